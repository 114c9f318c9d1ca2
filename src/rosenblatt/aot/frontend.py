"""From Python functions to LLVM code with entries for C, by Numba. Nothing is optimized and no machine code is made here.

Every entry has the same C type, ``int32_t entry(void *unused, void **raised, int64_t *block)``: the block holds the arguments
(an array as its address and its shape), and receives the results. `caller.c` fills it.

Import this module before anything has been compiled: it makes Numba stop before optimization, which is done once for each level
of processors.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import carray, njit, types
from numba.core import codegen
from numba.core.dispatcher import Dispatcher

from rosenblatt.aot.signatures import Argument, Tuple, parse
from rosenblatt.engine import conventions, entries, steps
from rosenblatt.engine.native import hash_step
from rosenblatt.engine.state import Additive
from rosenblatt.engine.text import arrays

LETTERS = {
    "q": types.int64, "d": types.float64, "i": types.int32, "f": types.float32, "B": types.uint8, "I": types.uint32,
    "Q": types.uint64,
}  # fmt: skip
NAMED = {"CSR": conventions.CSR, "Tokens": arrays.Tokens}
OPTIONS = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True, "error_model": "numpy"}


def stop_before_optimization() -> None:
    """Make Numba keep the LLVM code of a function as it is, and make no machine code of it."""

    def only_layout(self: Any, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def no_address(self: Any, name: str) -> int:
        self._ensure_finalized()
        return 0

    codegen.CPUCodeLibrary._optimize_functions = only_layout
    codegen.CPUCodeLibrary._optimize_final_module = lambda self: None
    codegen.JITCodeLibrary._finalize_specific = lambda self: None
    codegen.JITCodeLibrary.get_pointer_to_function = no_address
    codegen.JITCPUCodegen._add_module = lambda self, module: None
    codegen.JITCPUCodegen.set_env = lambda self, name, env: None
    Dispatcher.enable_caching = lambda self: None  # type: ignore[method-assign]


class _Arguments:
    """The source of an entry: what reads its arguments from the block."""

    def __init__(self) -> None:
        self.place = 0

    def read(self, argument: Argument) -> str:
        """An expression for one argument."""
        if isinstance(argument, Tuple):
            return f"{argument.name}(" + "".join(f"{self.read(part)}, " for part in argument.parts) + ")"
        if len(argument) == 1:
            self.place += 1
            number = f"{'floats' if argument == 'd' else 'block'}[{self.place - 1}]"
            return f"({number} != 0)" if argument == "?" else number
        dimensions = int(argument[1])
        shape = "".join(f"block[{self.place + 1 + axis}], " for axis in range(dimensions))
        self.place += 1 + dimensions
        return f"carray(pointer(block[{self.place - 1 - dimensions}]), ({shape}), {argument[0]})"


def _results(kind: Any) -> tuple[str, list[str]]:
    """The letters of the results of a function, and the statements that write them to the block."""
    parts = list(kind) if isinstance(kind, types.BaseTuple) else [] if kind == types.none else [kind]
    letters, lines = "", []
    for number, part in enumerate(parts):
        value = f"result[{number}]" if isinstance(kind, types.BaseTuple) else "result"
        is_float = isinstance(part, types.Float)
        letters += "d" if is_float else "?" if isinstance(part, types.Boolean | types.BooleanLiteral) else "q"
        lines.append(f"{'floats' if is_float else 'block'}[{number}] = {value}")
    return letters, lines


class Module:
    """LLVM code of several entries, linked.

    Attributes
    ----------
    symbols : dict
        Symbol → letters of the results; for a step function, ``step`` and the hash of its source.
    """

    def __init__(self) -> None:
        self.code: Any = None
        self.symbols: dict[str, str] = {}

    def add(self, symbol: str, name: str, signature: str) -> None:
        """Add an entry of a function of the engine."""
        from rosenblatt.engine.simd import pointer

        arguments = parse(signature)
        read = _Arguments()
        call = ", ".join(read.read(argument) for argument in arguments)
        size = max(read.place, 4)

        def source(lines: list[str]) -> str:
            body = [
                f"block = carray(pointer(address), ({size},), q)",
                f"floats = carray(pointer(address), ({size},), d)",
            ]
            body += [f"result = function({call})", *lines, "return 0"]
            return f"def {symbol}(address):\n" + "".join(f"    {line}\n" for line in body)

        space: dict[str, Any] = {"carray": carray, "pointer": pointer, "function": entries.source(name), **NAMED}
        space |= {letter: getattr(np, str(kind)) for letter, kind in LETTERS.items()}
        function = space["function"]
        kinds = tuple(_numba_type(argument) for argument in arguments)
        function.compile(kinds)
        letters, lines = _results(function.overloads[kinds].signature.return_type)
        exec(compile(source(lines), f"<{symbol}>", "exec"), space)  # our own template
        entry = njit(**OPTIONS)(space[symbol])
        entry.compile((types.int64,))
        result = entry.overloads[(types.int64,)]
        self._link(symbol, result.library, result.fndesc.llvm_func_name)
        self.symbols[symbol] = letters

    def add_step(self, symbol: str, step: Callable[..., Any]) -> None:
        """Add a step function as the loops call it: ``double f(double, double, double *)``, or with two results."""
        names = steps.given_names(step)
        parts = dict(steps.definitions(step))
        text = "from numba import njit\n" + "".join(f"{line}\n" for part, line in parts.values() if part == "import")
        text += f"OPTIONS = {OPTIONS!r}\n" + "\n\n".join(line for part, line in parts.values() if part == "function")
        space: dict[str, Any] = {}
        exec(compile(text, f"<{symbol}>", "exec"), space)  # the rule's own source
        pair = steps.kind_of_step(step) is not Additive
        rule = space[step.__name__] if pair else njit(**OPTIONS)(_as_float(space[step.__name__], names))
        kinds = (types.float64,) * len(names)
        rule.compile(kinds)
        result = rule.overloads[kinds]
        inner = f"{symbol}_inner"
        self._link(inner, result.library, result.fndesc.llvm_func_name)
        thunk = llvm.parse_assembly(_thunk(symbol, inner, step, names, pair))
        thunk.triple, thunk.data_layout = self.code.triple, self.code.data_layout
        self.code.link_in(thunk)
        self.symbols[symbol] = f"step {hash_step(step)}"

    def _link(self, symbol: str, library: Any, name: str) -> None:
        library._ensure_finalized()
        module = library._final_module.clone()
        module.get_function(name).name = symbol
        for function in module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external and function.name != symbol:
                function.linkage = "linkonce_odr"
        if self.code is None:
            self.code = module
        else:
            self.code.link_in(module)

    def bitcode(self) -> bytes:
        """The code, in which only the entries are visible."""
        for function in self.code.functions:
            if not function.is_declaration and function.name not in self.symbols:
                function.linkage = "internal"
        for variable in self.code.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                variable.linkage = "internal"
        self.code.verify()
        return bytes(self.code.as_bitcode())


def _as_float(step: Any, names: tuple[str, ...]) -> Any:
    """A function that calls a step function and returns a float also where the step returns a whole number."""
    space = {"step": step}
    exec(f"def rule({', '.join(names)}):\n    return float(step({', '.join(names)}))\n", space)
    return space["rule"]


def _numba_type(argument: Argument) -> Any:
    if isinstance(argument, Tuple):
        parts = tuple(_numba_type(part) for part in argument.parts)
        return types.NamedTuple(parts, NAMED[argument.name]) if argument.name else types.Tuple(parts)
    if len(argument) == 1:
        return types.boolean if argument == "?" else LETTERS[argument]
    return types.Array(LETTERS[argument[0]], int(argument[1]), "C")


_THUNK = """
define {result} @{symbol}({params}) {{
entry:
  %returned = alloca {returned}, align 8
  %raised = alloca ptr, align 8
  store ptr null, ptr %raised, align 8
{loads}
  %status = call i32 @{inner}(ptr %returned, ptr %raised{arguments})
  %failed = icmp ne i32 %status, 0
{end}
}}
declare i32 @{inner}(ptr, ptr{kinds})
"""

_ONE = """  %a = load double, ptr %returned, align 8
  %x = select i1 %failed, double 0x7FF8000000000000, double %a
  ret double %x"""

_TWO = """  %second = getelementptr double, ptr %returned, i64 1
  %a = load double, ptr %returned, align 8
  %b = load double, ptr %second, align 8
  %x = select i1 %failed, double 0x7FF8000000000000, double %a
  %y = select i1 %failed, double 0x7FF8000000000000, double %b
  %after = getelementptr double, ptr %out, i64 1
  store double %x, ptr %out, align 8
  store double %y, ptr %after, align 8
  ret void"""


def _thunk(symbol: str, inner: str, step: Callable[..., Any], names: tuple[str, ...], pair: bool) -> str:
    """LLVM code of the C function of a rule: it reads the hyperparameters, and returns NaN where the step raises."""
    given = steps.NUMBERS[steps.kind_of_step(step)]
    places = {name: f"%p{given.index(name)}" for name in names if name in given}
    loads = []
    for number, name in enumerate(steps.step_parameters(step)):
        loads.append(f"  %at{number} = getelementptr double, ptr %params, i64 {number}")
        loads.append(f"  %h{number} = load double, ptr %at{number}, align 8")
        places[name] = f"%h{number}"
    params = "".join(f"double %p{number}, " for number in range(len(given))) + "ptr %params" + ", ptr %out" * pair
    return _THUNK.format(
        result="void" if pair else "double", symbol=symbol, params=params, inner=inner, loads="\n".join(loads),
        returned="{ double, double }" if pair else "double", kinds=", double" * len(names), end=_TWO if pair else _ONE,
        arguments="".join(f", double {places[name]}" for name in names),
    )  # fmt: skip


def built_in_steps() -> dict[str, Callable[..., Any]]:
    """The step function of every learner that defines one, by the name of its module."""
    from rosenblatt import learners
    from rosenblatt.estimators.bases import without_sklearn

    without_sklearn()
    found = {}
    for name in sorted({*learners.classes().values(), *learners.regressors().values()}):
        module = f"rosenblatt.learners.{name}"
        specification = find_spec(module)
        assert specification is not None
        assert specification.origin is not None
        # Others are not even imported: a wheel is built without the libraries that they need.
        if "\ndef step(" in Path(specification.origin).read_text(encoding="utf-8"):
            found[name] = import_module(module).step
    return found
