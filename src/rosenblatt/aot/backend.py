"""From LLVM code to an object file for one level of processors, by the passes that Numba itself runs."""

import llvmlite.binding as llvm
from numba.core.codegen import _parse_refprune_flags
from numba.core.llvm_bindings import create_pass_builder

LEVELS = {
    "x86-64-v2": ("x86_64", "x86-64-v2", ""),
    "x86-64-v3": ("x86_64", "x86-64-v3", ""),
    "aarch64": ("aarch64", "generic", "+neon"),
}
"""Levels of processors: the architecture, LLVM's name of the processor, and extra features."""

SYSTEMS = {
    "linux": "{}-unknown-linux-gnu",
    "macos": "{}-apple-macosx11.0",
    "windows": "{}-pc-windows-gnu",
}
"""Targets of LLVM by system, for an architecture."""


def object_file(bitcode: bytes, level: str, system: str) -> bytes:
    """Optimize code for a level, and return the object file. Every symbol of an entry gets the level as its suffix."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    architecture, cpu, features = LEVELS[level]
    triple = SYSTEMS[system].format("arm64" if (architecture, system) == ("aarch64", "macos") else architecture)
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )
    module = llvm.parse_bitcode(bitcode)
    module.triple, module.data_layout = triple, str(machine.target_data)
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external:
            function.name = f"{function.name}_{level_symbol(level)}"
            function.visibility = "hidden"  # the library exports what Python looks for only
    # Numba runs a cheap round first, so that more reference counts are in one function when they are removed.
    cheap = create_pass_builder(machine, opt=0, loop_vectorize=False, slp_vectorize=False)
    passes = cheap.getModulePassManager()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()
    passes.add_jump_threading_pass()
    passes.add_refprune_pass(_parse_refprune_flags())
    passes.run(module, cheap)
    full = create_pass_builder(machine, opt=3, loop_vectorize=True, slp_vectorize=False)
    passes = full.getModulePassManager()
    passes.add_refprune_pass(_parse_refprune_flags())
    passes.run(module, full)
    return bytes(machine.emit_object(module))


def level_symbol(level: str) -> str:
    """The name of a level as part of a symbol."""
    return level.replace("-", "_")
