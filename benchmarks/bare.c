/* Bare loops as a measure of what the hardware allows: no checks, no averages, no classes, no stop rule.

   An epoch of the perceptron for two classes on CSR rows, as one would write it in C by hand. `y` holds 0 and 1; a score of
   exactly 0 is a mistake. Compiled by bare.py. */

#include <stdint.h>

static void update(const int32_t *indices, const double *values, int64_t count, double sign, double *w, double *bias) {
    for (int64_t k = 0; k < count; k++)
        w[indices[k]] += sign * values[k];
    *bias += sign;
}

/* One running sum for each row. */
int64_t epoch_one_sum(const int64_t *indptr, const int32_t *indices, const double *values, const int64_t *y, int64_t rows,
                      double *w, double *bias) {
    int64_t mistakes = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t start = indptr[i], stop = indptr[i + 1];
        double score = 0.0;
        for (int64_t k = start; k < stop; k++)
            score += w[indices[k]] * values[k];
        const double sign = y[i] ? 1.0 : -1.0;
        if (sign * (score + *bias) <= 0.0) {
            update(indices + start, values + start, stop - start, sign, w, bias);
            mistakes++;
        }
    }
    return mistakes;
}

/* Eight sums for each row, feature j in number j & 7: the order of summation of this library, so the bits are the same. */
int64_t epoch_eight_slots(const int64_t *indptr, const int32_t *indices, const double *values, const int64_t *y, int64_t rows,
                          double *w, double *bias) {
    int64_t mistakes = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t start = indptr[i], stop = indptr[i + 1];
        double s[8] = {0.0};
        for (int64_t k = start; k < stop; k++)
            s[indices[k] & 7] += w[indices[k]] * values[k];
        const double score = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        const double sign = y[i] ? 1.0 : -1.0;
        if (sign * (score + *bias) <= 0.0) {
            update(indices + start, values + start, stop - start, sign, w, bias);
            mistakes++;
        }
    }
    return mistakes;
}

/* Read all of X: 32 independent sums, so that memory and not addition is the limit. */
double read_all(const double *X, int64_t size) {
    double s[32] = {0.0};
    int64_t j = 0;
    for (; j + 32 <= size; j += 32)
        for (int lane = 0; lane < 32; lane++)
            s[lane] += X[j + lane];
    for (; j < size; j++)
        s[0] += X[j];
    double total = 0.0;
    for (int lane = 0; lane < 32; lane++)
        total += s[lane];
    return total;
}
