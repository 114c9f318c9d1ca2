"""Compiles the engine ahead of time into one library of machine code; see docs/decisions/compiled_library.md.

``python -m rosenblatt.aot`` makes the library for this machine in the cache folder; the build of a wheel puts it into the
package. `signatures` lists what is compiled, `frontend` turns Python into LLVM code with Numba, `backend` turns that into object
files for each level of processors, and `build` links these with `caller.c` and `runtime.c`.
"""
