/* What the machine code asks of Numba's runtime: memory for temporary arrays. Nothing here needs Python. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    size_t references;
    void (*destroy)(void *, size_t, void *);
    void *info;
    void *data;
    size_t size;
    void *allocator;
} Memory; /* the layout that Numba's code expects */

#if defined(_WIN32)
#define LOCAL
#else
#define LOCAL __attribute__((visibility("hidden")))
#endif

static void *allocate(size_t size, size_t align) {
    Memory *memory;
    if (size > SIZE_MAX - sizeof *memory - align) return NULL;
    memory = malloc(sizeof *memory + size + align);
    if (memory == NULL) return NULL;
    memory->references = 1;
    memory->destroy = NULL;
    memory->info = NULL;
    memory->data = (void *)(((uintptr_t)(memory + 1) + align - 1) / align * align);
    memory->size = size;
    memory->allocator = NULL;
    return memory;
}

LOCAL void *NRT_MemInfo_alloc(size_t size) { return allocate(size, 16); }
LOCAL void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) { return allocate(size, align < 16 ? 16 : align); }
LOCAL void NRT_MemInfo_call_dtor(Memory *memory) { free(memory); }
LOCAL void *NRT_Allocate(size_t size) { return malloc(size); }
LOCAL void NRT_Free(void *pointer) { free(pointer); }
