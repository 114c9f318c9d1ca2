"""A linear model as a header of C99 that predicts, and learns if that is wanted. It needs nothing but libc.

The C code adds in the same order as the engine and never contracts a product and a sum, so its scores and its learned weights
have the same bits as those of the library.
"""

import ast
import inspect
import math
import re
import textwrap
from typing import Any

import numpy as np

from rosenblatt.engine.conventions import KEEP, ON_ZERO, POSITIVE
from rosenblatt.engine.state import Additive, Diagonal
from rosenblatt.engine.steps import NUMBERS, definitions, given_names, is_regression, step_parameters
from rosenblatt.model.linear import Model

COMPUTED = {"math.sqrt": "sqrt", "math.fabs": "fabs", "abs": "fabs"}
"""The functions that a step function may use, and their names in C: those that every machine computes with the same bits."""


SIGNS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


class NotInC(ValueError):  # noqa: N818 - users see the message only
    """A model or a rule that has no form in C."""


def header(estimator: Any, name: str, learn: bool) -> str:
    """The text of the header; `name` begins every name in it."""
    model: Model = estimator.model_
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(
            f"`name` of to_c must be a name of C, such as spam; got {name!r}. Use letters, digits and underscores."
        )
    owner = type(estimator).__name__
    if model.readout not in ("last", "average"):
        raise NotInC(
            f"`to_c` needs a model with one weight vector for each class; {owner} predicts by votes. Train an "
            "AveragedPerceptron instead."
        )
    regression = is_regression(model.rule.step)
    if not regression and len(model.classes) < 2:
        raise NotInC(f"`to_c` needs a model of at least 2 classes; got {model.classes}. Train it first.")
    if learn:
        _check_learning(model, owner)
    parts = [
        _beginning(estimator, model, name, learn),
        _tables(estimator, model, name, learn),
        _scores(model, name, learn),
    ]
    if regression:
        parts.append(_DECIDE_NUMBER)
    else:
        parts.append(_DECIDE_TWO if model.vectors == 1 else _DECIDE_MANY)
    parts.append(_PREDICT.replace("RESULT", "double" if regression else "int"))
    if learn:
        parts.append(_learning(model))
    parts.append(_FIND if _names(estimator, model) is not None else "")
    parts.append(_columns(estimator))
    parts.append(_END)
    text = "\n".join(part for part in parts if part)
    text = text.replace("@model,@", "const @_model *m, " if learn else "").replace("@m@", "m, " if learn else "")
    return text.replace("@U", name.upper()).replace("@_", f"{name}_")


def _check_learning(model: Model, owner: str) -> None:
    rule = model.rule
    if rule.penalty is not None:
        raise NotInC(
            f"`to_c(learn=True)` needs a learner without a penalty; {owner} has one. Use to_c() to predict, or train with "
            "penalty=None."
        )
    if rule.kind not in (Additive, Diagonal) or rule.link != "identity":
        raise NotInC(
            f"`to_c(learn=True)` needs a rule that adds a multiple of the example, with a diagonal covariance if any; {owner} "
            "does not. Use to_c() to predict, or train a PassiveAggressive, Perceptron or AROW."
        )
    if model.vectors > 1 and rule.multiclass != "max":
        raise NotInC(
            f'`to_c(learn=True)` needs multiclass="max" for three or more classes; got {rule.multiclass!r}. Use to_c() to '
            "predict."
        )
    if getattr(model, "scaled", False):
        raise NotInC(
            "`to_c(learn=True)` needs a model that learns the target itself; this one learns it on a scale of its own. Train it "
            "with --no-standardize, or use to_c() to predict."
        )


# ---- tables ----


def _number(value: float, single: bool = False) -> str:
    """A number as C99 writes it without loss."""
    if math.isinf(value):
        return "HUGE_VAL" if value > 0 else "(-HUGE_VAL)"
    return float(value).hex() + ("f" if single else "")


def _text(value: Any) -> str:
    """A string of C."""
    made = ""
    for byte in str(value).encode():
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?@'  # @ begins the names that are filled in later
        made += chr(byte) if plain else f"\\{byte:03o}"
    return f'"{made}"'


def _array(kind: str, name: str, values: list[str]) -> str:
    if not values:
        values = ["0"]
    body = textwrap.fill(
        ", ".join(values), 118, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )
    if kind.startswith("char"):
        body = "    " + ",\n    ".join(values)
        kind = "char *const"
    return f"static const {kind} {name}[{len(values)}] = {{\n{body}\n}};\n"


def _names(estimator: Any, model: Model) -> list[str] | None:
    """The names of the features, if they have any."""
    encoder = vars(estimator).get("encoder_")
    if encoder is not None:
        return None if encoder.bits is not None else [str(name) for name in encoder.names()]
    return None if model.features is None else [str(name) for name in model.features]


def _beginning(estimator: Any, model: Model, name: str, learn: bool) -> str:
    from rosenblatt._version import __version__

    owner, single = type(estimator).__name__, model.dtype == np.float32
    size = f"{model.n_features} feature{'s' * (model.n_features != 1)}"
    what = "a number" if not model.classes else f"one of {len(model.classes)} classes"
    given = "an example is an array of @_FEATURES numbers, or the numbers of its features in increasing order with their values"
    lines = [
        f"/* {owner}, made by rosenblatt {__version__}: predicts {what} from {size}.",
        "",
        *textwrap.wrap(
            f"C99 without any library but libc. In every function {given.replace('@_FEATURES', '@U_FEATURES')}.", 100
        ),
    ]
    if model.classes:
        lines += textwrap.wrap(
            "@_predict returns the number of the predicted class, whose label is @_classes[number]. "
            + (
                "@_scores writes one score, positive for @_classes[1]."
                if model.vectors == 1
                else "@_scores writes one score for each class; the highest wins."
            ),
            100,
        )
    else:
        lines += ["@_predict returns the predicted number."]
    if learn:
        lines += textwrap.wrap(
            "Fill a @_model with @_start(&model), which copies the weights of the trained model. @_learn(&model, x, y) predicts "
            "an example and then learns it; it returns the prediction through its last argument, and -1 if the example cannot be "
            "learned: then nothing is changed.",
            100,
        )
    if "encoder_" in vars(estimator):
        lines += textwrap.wrap(
            'The features are those after encoding: @_feature("column=value") finds a category (its value is 1), '
            '@_feature("column:word") a word. @_column(j, number) scales a number of a column.',
            100,
        )
    lines += textwrap.wrap(
        "The scores have the same bits as those of rosenblatt, with any optimisation that keeps to IEEE 754. Link with -lm.",
        100,
    )
    comment = "\n".join(f" * {line}".rstrip() if at else line for at, line in enumerate(lines)) + "\n */"
    return f"""{comment}
#ifndef @U_H
#define @U_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "Compile without -ffast-math: it changes the order of sums."
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "Compile for SSE (-msse2 -mfpmath=sse): this machine would compute with other numbers than double."
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

#define @U_FEATURES {model.n_features}
#define @U_VECTORS {model.vectors}
#define @U_CLASSES {len(model.classes)}

typedef {"float" if single else "double"} @_number;
"""


def _tables(estimator: Any, model: Model, name: str, learn: bool) -> str:
    single, d, vectors = model.dtype == np.float32, model.n_features, model.vectors
    parts = []
    if model.classes:
        parts.append(_array("char", "@_classes", [_text(label) for label in model.classes]))
    names = _names(estimator, model)
    if names is not None:
        parts.append(_array("char", "@_features", [_text(one) for one in names]))

    def flat(array: Any) -> list[float]:
        part = array[:d]
        values: list[float] = (part if part.ndim == 1 else part[:, :vectors]).ravel().tolist()
        return values

    state = model.state
    if not learn:
        w, bias, scale = model.scoring()
        parts.append(_array("@_number", "@_weights", [_number(value, single) for value in flat(w)]))
        parts.append(_array("double", "@_biases", [_number(value) for value in bias.tolist()]))
        factors = np.broadcast_to(1.0 if scale is None else scale, vectors)
        parts.append(_array("double", "@_factors", [_number(value) for value in factors.tolist()]))
        return "\n".join(parts)
    averaged, second = model.readout == "average", model.rule.kind is Diagonal
    parts.append(_array("@_number", "@_weights", [_number(value, single) for value in flat(state.w)]))
    parts.append(_array("double", "@_biases", [_number(value) for value in state.bias.tolist()]))
    fields = ["@_number w[@U_FEATURES * @U_VECTORS + 1];", "double bias[@U_VECTORS];", "double age;"]
    start = [
        "memcpy(m->w, @_weights, sizeof @_weights);",
        "memcpy(m->bias, @_biases, sizeof @_biases);",
        f"m->age = {_number(float(state.counters.age))};",
    ]
    if averaged:
        parts.append(_array("double", "@_sums", [_number(value) for value in flat(state.u)]))
        parts.append(_array("double", "@_bias_sums", [_number(value) for value in state.u_bias.tolist()]))
        fields += ["double u[@U_FEATURES * @U_VECTORS + 1];", "double u_bias[@U_VECTORS];"]
        start += ["memcpy(m->u, @_sums, sizeof @_sums);", "memcpy(m->u_bias, @_bias_sums, sizeof @_bias_sums);"]
    if second:
        sigma, own = model.memory.content(d)
        parts.append(_array("double", "@_variances", [_number(value) for value in flat(sigma)]))
        parts.append(_array("double", "@_bias_variances", [_number(value) for value in own.tolist()]))
        fields += ["double sigma[@U_FEATURES * @U_VECTORS + 1];", "double sigma_bias[@U_VECTORS];"]
        start += [
            "memcpy(m->sigma, @_variances, sizeof @_variances);",
            "memcpy(m->sigma_bias, @_bias_variances, sizeof @_bias_variances);",
        ]
    body, copies = "\n    ".join(fields), "\n    ".join(start)
    parts.append(f"typedef struct {{\n    {body}\n}} @_model;\n")
    parts.append(f"static inline void @_start(@_model *m)\n{{\n    {copies}\n}}\n")
    return "\n".join(parts)


# ---- scores ----


def _scores(model: Model, name: str, learn: bool) -> str:
    """The functions that compute scores: those of the readout and, if they are others, those of the last weights."""
    averaged = learn and model.readout == "average"
    weight, bias = ("m->w[at]", "m->bias[k]") if learn else ("@_weights[at]", "@_biases[k]")
    last = _score_function("last", weight, bias, "") if averaged else ""
    if averaged:
        weight, bias = (
            "@_mean(m, m->w[at], m->u[at])",
            "(m->age != 0.0 ? m->bias[k] - m->u_bias[k] / m->age : m->bias[k])",
        )
    factor = "" if learn else " * @_factors[k]"
    return _SUM + (_MEAN if averaged else "") + last + _score_function("rank", weight, bias, factor) + _SCORES


def _score_function(what: str, weight: str, bias: str, factor: str) -> str:
    """Scores of an example: of one vector in eight lanes, of several from the first feature to the last."""
    return f"""static inline void @_{what}(@model,@const size_t *indices, const @_number *values, size_t count, double *scores)
{{
    size_t i, k;
    for (k = 0; k < @U_VECTORS; k++) {{
        @_number lanes[8] = {{0, 0, 0, 0, 0, 0, 0, 0}};
        for (i = 0; i < count; i++) {{
            const size_t j = indices ? indices[i] : i, at = j * @U_VECTORS + k;
            lanes[@U_VECTORS == 1 ? j & 7 : 0] += {weight} * values[i];
        }}
        scores[k] = ((double)@_sum(lanes) + {bias}){factor};
    }}
}}

"""


_SUM = """static inline @_number @_sum(const @_number *s)
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

"""

_MEAN = """static inline @_number @_mean(const @_model *m, @_number w, double u)
{
    return (@_number)((double)w - (m->age != 0.0 ? u / m->age : 0.0));
}

"""

_SCORES = """static inline void @_scores(@model,@const @_number *x, double *scores)
{
    @_rank(@m@(const size_t *)0, x, @U_FEATURES, scores);
}

static inline void @_scores_sparse(@model,@const size_t *indices, const @_number *values, size_t count, double *scores)
{
    @_rank(@m@indices, values, count, scores);
}
"""

_PREDICT = """static inline RESULT @_predict(@model,@const @_number *x)
{
    double scores[@U_VECTORS];
    @_scores(@m@x, scores);
    return @_decide(scores);
}

static inline RESULT @_predict_sparse(@model,@const size_t *indices, const @_number *values, size_t count)
{
    double scores[@U_VECTORS];
    @_scores_sparse(@m@indices, values, count, scores);
    return @_decide(scores);
}
"""

_DECIDE_NUMBER = """static inline double @_decide(const double *scores)
{
    return scores[0];
}
"""

_DECIDE_TWO = """static inline int @_decide(const double *scores)
{
    return scores[0] >= 0.0;
}
"""

_DECIDE_MANY = """static inline int @_decide(const double *scores)
{
    int k, best = 0;
    for (k = 1; k < @U_VECTORS; k++) {
        if (scores[k] > scores[best]) {
            best = k;
        }
    }
    return best;
}
"""

_FIND = """static inline int @_feature(const char *name)
{
    int j;
    for (j = 0; j < @U_FEATURES; j++) {
        if (strcmp(@_features[j], name) == 0) {
            return j;
        }
    }
    return -1;
}
"""

_END = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
"""


def _columns(estimator: Any) -> str:
    """The function that scales a number of a column as the encoder does."""
    encoder = vars(estimator).get("encoder_")
    if encoder is None or encoder.moments is None or encoder.bits is not None or not encoder.number_columns:
        return ""
    moments = encoder.moments
    deviations = np.sqrt(moments.spread / np.maximum(1.0, moments.count))
    return (
        _array("double", "@_means", [_number(value) for value in moments.mean.tolist()])
        + _array("double", "@_deviations", [_number(value) for value in deviations.tolist()])
        + """
static inline double @_column(int j, double number)
{
    return @_deviations[j] > 0.0 ? (number - @_means[j]) / @_deviations[j] : 0.0;
}
"""
    )


# ---- learning ----


def _learning(model: Model) -> str:
    """The functions that learn."""
    rule = model.rule
    regression, second = is_regression(rule.step), rule.kind is Diagonal
    averaged, many = model.readout == "average", model.vectors > 1
    needs_norm = "sq_norm" in inspect.signature(rule.step).parameters
    label = "double" if regression else "int"
    lines = [
        f"static inline int @_teach(@_model *m, const size_t *indices, const @_number *values, size_t count, {label} y)",
        "{",
    ]
    lines += [
        "    double scores[@U_VECTORS], out[2] = {0.0, 0.0}, amounts[2] = {1.0, -1.0}, shrinks[2] = {0.0, 0.0};",
        "    double margin, given, norm = 0.0, size = 0.0;",
        "    size_t columns[2] = {0, 0}, i, c, k;",
        "    int moved = 0;",
        f"    @_{'last' if averaged else 'rank'}(m, indices, values, count, scores);",
        "    for (k = 0; k < @U_VECTORS; k++) {",
        "        if (!isfinite(scores[k])) {",
        "            return -1;",
        "        }",
        "    }",
    ]
    if regression:
        lines += [
            "    if (!isfinite(y)) {",
            "        return -1;",
            "    }",
            "    amounts[0] = y > scores[0] ? 1.0 : -1.0;",
            "    margin = -fabs(y - scores[0]);",
            f"    given = {_number(rule.target)} - margin;",
        ]
    elif many:
        lines += [
            "    if (y < 0 || y >= @U_CLASSES) {",
            "        return -1;",
            "    }",
            "    columns[0] = (size_t)y;",
            "    columns[1] = y == 0;",
            "    for (k = columns[1] + 1; k < @U_VECTORS; k++) {",
            "        if (scores[k] > scores[columns[1]] && k != columns[0]) {",
            "            columns[1] = k;",
            "        }",
            "    }",
            "    margin = scores[columns[0]] - scores[columns[1]];",
        ]
    else:
        lines += [
            "    if (y < 0 || y > 1) {",
            "        return -1;",
            "    }",
            "    amounts[0] = y == 1 ? 1.0 : -1.0;",
            "    margin = amounts[0] * scores[0];",
        ]
    if not regression:
        first = "columns[0] < columns[1]" if many else "y == 1"
        if ON_ZERO[rule.on_zero] == KEEP:
            lines.append("    margin = margin == 0.0 ? 0x1p-1074 : margin;")
        elif ON_ZERO[rule.on_zero] == POSITIVE:
            lines.append(f"    margin = margin == 0.0 && {first} ? 0x1p-1074 : margin;")
        lines.append("    given = margin;")
    vectors = 2 if many else 1
    bias = "1.0" if rule.fit_intercept else "0.0"
    lines.append(f"    if (margin <= {_number(rule.target)}) {{")
    inner = []
    if second:
        inner += [
            f"for (c = 0; c < {vectors}; c++) {{",
            "    k = columns[c];",
            f"    size += amounts[c] * amounts[c] * (@_variance(m, k, indices, values, count) + m->sigma_bias[k] * {bias});",
            "}",
            "if (size > 0.0) {",
            "    @_step(given, size, out);",
            "    if (out[0] != 0.0 || out[1] != 0.0) {",
            f"        norm = @_norm(indices, values, count) + {bias};",
            "    }",
            "}",
            "if (!(norm < HUGE_VAL && out[0] * out[0] * size < HUGE_VAL && 0.0 <= out[1] && out[1] < HUGE_VAL)) {",
            "    return -1;",
            "}",
            "moved = out[0] != 0.0 || out[1] != 0.0;",
            f"for (c = 0; c < {vectors}; c++) {{",
            "    shrinks[c] = amounts[c] * amounts[c] * out[1];",
            "    amounts[c] *= out[0];",
            "}",
        ]
    else:
        lead = "2.0 * norm" if many else "norm"
        inner += [f"norm = @_norm(indices, values, count) + {bias};", f"size = {lead};"] if needs_norm else []
        inner += [
            "@_step(given, size, out);",
            *(
                []
                if needs_norm
                else ["if (out[0] != 0.0) {", f"    norm = @_norm(indices, values, count) + {bias};", "}"]
            ),
            "if (out[0] == 0.0 || norm == 0.0) {",
            "    if (!(norm < HUGE_VAL)) {",
            "        return -1;",
            "    }",
            "} else if (out[0] > 0.0 && out[0] * out[0] * norm < HUGE_VAL) {",
            "    moved = 1;",
            "} else {",
            "    return -1;",
            "}",
            f"for (c = 0; c < {vectors}; c++) {{",
            "    amounts[c] *= out[0];",
            "}",
        ]
    lines += [f"        {line}" for line in inner]
    lines += ["    }", f"    for (c = 0; moved && c < {vectors}; c++) {{", "        const double amount = amounts[c];"]
    lines += ["        const double lagged = m->age * amount;"] if averaged else []
    lines += ["        k = columns[c];", "        for (i = 0; i < count; i++) {"]
    lines += ["            const size_t at = (indices ? indices[i] : i) * @U_VECTORS + k;"]
    lines += ["            if (values[i] == 0) {", "                continue;", "            }"] if many else []
    along = "along" if second else "values[i]"
    if second:
        lines.append("            const double along = m->sigma[at] * values[i];")
    if averaged:
        lines.append(f"            m->u[at] += lagged * {along};")
    lines.append(f"            m->w[at] = (@_number)(m->w[at] + amount * {along});")
    if second:
        lines.append("            m->sigma[at] = @_positive(m->sigma[at] - shrinks[c] * (along * along));")
    lines.append("        }")
    if second:
        lines.append(f"        size = m->sigma_bias[k] * {bias};")
        lines += ["        m->u_bias[k] += lagged * size;"] if averaged else []
        lines += [
            "        m->bias[k] += amount * size;",
            "        m->sigma_bias[k] = @_positive(m->sigma_bias[k] - shrinks[c] * (size * size));",
        ]
    else:
        lines += [f"        m->u_bias[k] += lagged * {bias};"] if averaged else []
        lines.append(f"        m->bias[k] += amount * {bias};")
    lines += ["    }", "    m->age += 1.0;"]
    lines += [] if second else ["    (void)shrinks;"]
    lines += ["    return 0;", "}", ""]
    helpers = _NORM + (_VARIANCE_MANY if second and many else _VARIANCE if second else "")
    result = "double" if regression else "int"
    return helpers + step_in_c(model) + "\n".join(lines) + _LEARN.replace("LABEL", label).replace("RESULT", result)


_NORM = """static inline double @_total(const double *s)
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

static inline double @_norm(const size_t *indices, const @_number *values, size_t count)
{
    double lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t i;
    for (i = 0; i < count; i++) {
        lanes[(indices ? indices[i] : i) & 7] += (double)values[i] * (double)values[i];
    }
    return @_total(lanes);
}

"""

_VARIANCE = """static inline double @_positive(double number)
{
    return number > 0.0 ? number : 0.0;
}

static inline double @_variance(const @_model *m, size_t k, const size_t *indices, const @_number *values, size_t count)
{
    double lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t i;
    for (i = 0; i < count; i++) {
        const size_t j = indices ? indices[i] : i;
        lanes[LANE] += m->sigma[j * @U_VECTORS + k] * (double)values[i] * (double)values[i];
    }
    return @_total(lanes);
}

"""
_VARIANCE_MANY = _VARIANCE.replace("LANE", "0")
_VARIANCE = _VARIANCE.replace("LANE", "j & 7")

_LEARN = """
static inline int @_learn_sparse(@_model *m, const size_t *indices, const @_number *values, size_t count, LABEL y, RESULT *before)
{
    const RESULT guess = @_predict_sparse(m, indices, values, count);
    if (before) {
        *before = guess;
    }
    return @_teach(m, indices, values, count, y);
}

static inline int @_learn(@_model *m, const @_number *x, LABEL y, RESULT *before)
{
    return @_learn_sparse(m, (const size_t *)0, x, @U_FEATURES, y, before);
}
"""


# ---- the step function in C ----


def step_in_c(model: Model) -> str:
    """The step function of a rule as a C function that writes its results to `out`."""
    rule = model.rule
    parts = dict(definitions(rule.step))
    if sum(kind == "function" for kind, _ in parts.values()) > 1:
        raise _not_c(rule.step, "a call of another function")
    hyper = dict(zip(step_parameters(rule.step), rule.params, strict=True))
    constants = {
        name: text.partition(" = ")[2] for name, (kind, text) in parts.items() if kind == "import" and " = " in text
    }
    source = next(text for kind, text in parts.values() if kind == "function").partition("\n")[2]
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    places = {"margin": "given", NUMBERS[rule.kind][1]: "size", "weight": "1.0"}
    names = {own: places[name] for own, name in zip(inspect.signature(rule.step).parameters, given_names(rule.step), strict=True)
             if name in places}  # fmt: skip
    names |= {name: _number(value) for name, value in hyper.items()}
    names |= {
        name: _number(float(text.strip('float("')[:-2] if "float(" in text else text))
        for name, text in constants.items()
    }
    body = _Translator(rule.step, names).function(function)
    return f"static inline void @_step(double given, double size, double *out)\n{{\n    (void)size;\n{body}}}\n\n"


def _not_c(step: Any, what: str) -> NotInC:
    return NotInC(
        f"`to_c(learn=True)` cannot write the step function `{step.__name__}` in C, because it has {what}. Use to_c() to predict."
    )


class _Translator:
    """The statements of a step function as C: assignments, if, return, arithmetic, min, max and some functions of math."""

    def __init__(self, step: Any, names: dict[str, str]) -> None:
        self.step, self.names = step, names

    def function(self, node: ast.FunctionDef) -> str:
        """The body of a function, with its variables."""
        stored = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        lines = [f"    double v_{name} = {self.names.get(name, '0.0')};\n" for name in dict.fromkeys(stored)]
        self.names |= {name: f"v_{name}" for name in stored}
        return "".join(lines) + self.block(node.body, "    ")

    def block(self, statements: list[ast.stmt], indent: str) -> str:
        return "".join(self.statement(one, indent) for one in statements)

    def statement(self, node: ast.stmt, indent: str) -> str:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return ""  # the docstring
        if isinstance(node, ast.Return) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            lines = [f"out[{place}] = {self.number(value)};" for place, value in enumerate(values)]
            return "".join(f"{indent}{line}\n" for line in [*lines, "return;"])
        if isinstance(node, ast.If):
            other = f" else {{\n{self.block(node.orelse, indent + '    ')}{indent}}}" if node.orelse else ""
            return (
                f"{indent}if ({self.truth(node.test)}) {{\n{self.block(node.body, indent + '    ')}{indent}}}{other}\n"
            )
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and type(node.op) in SIGNS:
            return f"{indent}v_{node.target.id} {SIGNS[type(node.op)]}= {self.number(node.value)};\n"
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            left = target.elts if isinstance(target, ast.Tuple) else [target]
            right = (
                node.value.elts if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) else [node.value]
            )
            if len(left) == len(right) and all(isinstance(one, ast.Name) for one in left):
                names = [f"v_{ast.unparse(one)}" for one in left]
                numbers = [self.number(value) for value in right]
                if len(names) == 1:
                    return f"{indent}{names[0]} = {numbers[0]};\n"
                # All values are computed before the first is assigned.
                lines = [f"const double t{place} = {value};" for place, value in enumerate(numbers)]
                lines += [f"{name} = t{place};" for place, name in enumerate(names)]
                return "".join([f"{indent}{{\n", *(f"{indent}    {line}\n" for line in lines), f"{indent}}}\n"])
        raise _not_c(self.step, f"the statement `{ast.unparse(node)}`")

    def truth(self, node: ast.expr) -> str:
        """A condition."""
        if isinstance(node, ast.BoolOp):
            return f"({(' && ' if isinstance(node.op, ast.And) else ' || ').join(map(self.truth, node.values))})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!({self.truth(node.operand)})"
        signs: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
        if isinstance(node, ast.Compare) and all(type(sign) in signs for sign in node.ops):
            terms = [self.number(one) for one in (node.left, *node.comparators)]
            pairs = [f"{a} {signs[type(op)]} {b}" for a, op, b in zip(terms, node.ops, terms[1:], strict=False)]
            return f"({' && '.join(pairs)})" if len(pairs) > 1 else pairs[0]
        return f"{self.number(node)} != 0.0"

    def number(self, node: ast.expr) -> str:
        """A term."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return _number(float(node.value))
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
            return f"({self.number(node.left)} {SIGNS[type(node.op)]} {self.number(node.right)})"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and ast.unparse(node.right) == "2":
            return f"({self.number(node.left)} * {self.number(node.left)})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return f"(-{self.number(node.operand)})"
        if isinstance(node, ast.IfExp):
            return f"({self.truth(node.test)} ? {self.number(node.body)} : {self.number(node.orelse)})"
        if isinstance(node, ast.Call) and not node.keywords:
            called = ast.unparse(node.func)
            terms = [self.number(one) for one in node.args]
            if called in ("min", "max") and len(terms) == 2:
                return f"({terms[1]} {'<' if called == 'min' else '>'} {terms[0]} ? {terms[1]} : {terms[0]})"
            if called in COMPUTED and len(terms) == 1:
                return f"{COMPUTED[called]}({terms[0]})"
        raise _not_c(self.step, f"`{ast.unparse(node)}`")
