"""The user's code: where it is loaded from, its digest, which tells changed code, its way to other
processes, and its errors.

What is digested is what is sent: the module of a class and the modules that it imports from its own
folder. Of a script or a notebook it is the class, and what it uses of the same script or notebook.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import linecache
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle

from ifmixup.errors import ComponentError, InputError, unknown_name
from ifmixup.values import is_plain

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# The code of each module when it was first digested, and its spec, which a reload replaces.
_SEEN: dict[tuple[Path, str], tuple[str, Any]] = {}


def load_class(target: str, kind: str) -> tuple[type, str]:
    """The class of ``"nets.py:Net"`` or ``"package.module:Net"``, and the target to store."""
    return load_named(target, kind, "class", lambda value: isinstance(value, type))


def load_named(target: str, kind: str, what: str, wanted: Callable[[Any], bool]) -> tuple[Any, str]:
    """What ``"nets.py:Net"`` or ``"package.module:Net"`` names, and the target to store.

    Args:
        target: The text.
        kind: What it is for: a model, a method or a metric.
        what: What it should be, such as a class.
        wanted: Whether a value is one.
    """
    where, _, name = target.rpartition(":")
    if not where or not name.isidentifier():
        raise InputError(
            f"{target!r} does not name a {what}. Write 'nets.py:Net' or 'package.module:Net'."
        )
    is_file = where.endswith(".py") or "/" in where or "\\" in where
    module = _load_file(Path(where), kind) if is_file else _load_module(where, kind)
    found = getattr(module, name, None)
    if not wanted(found):
        several = [n for n, v in vars(module).items() if wanted(v) and not n.startswith("_")]
        own = [
            n
            for n in several
            if getattr(getattr(module, n), "__module__", module.__name__) == module.__name__
        ]
        raise unknown_name(f"{what} in {where}", name, own or several)
    return found, f"{Path(where).name}:{name}" if is_file else f"{where}:{name}"


def source_digest(cls: Any) -> str:
    """A digest of the code of a class or a function, without comments, docstrings and formatting.

    Raises:
        ComponentError: If the code cannot be found, or is not the code that is loaded.
    """
    if cls.__module__ == "__main__":
        texts = _of_main(cls)
    else:
        _check_loaded(cls)
        texts = {name: _parsed(path)[1] for name, path in _own_files(cls).items()}
    hasher = hashlib.sha256(cls.__qualname__.encode())
    for name, text in sorted(texts.items()):
        hasher.update(f"\0{name}\0{text}".encode())
    return hasher.hexdigest()[:24]


def pickle_classes(classes: list[Any]) -> bytes:
    """Classes and functions for another process of ours, which need not have their files.

    Modules of the user's own folder go by value, installed packages by name.
    """
    own = {module for each in classes for module in _own_modules(each)}
    registered = []
    try:
        for module in own:
            if module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                registered.append(module)
        return cloudpickle.dumps(classes)
    except Exception as error:
        names = ", ".join(each.__name__ for each in classes)
        raise ComponentError(
            f"{names} cannot be sent to a worker: {type(error).__name__}: {error}. Put the class "
            f"into a separate file, without open files, locks or tensors at module level."
        ) from error
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def unpickle_classes(content: bytes) -> list[Any]:
    """The inverse of :func:`pickle_classes`, in a worker of the process that pickled them."""
    return cloudpickle.loads(content)


@contextmanager
def user_code(doing: str, cls: Any) -> Iterator[None]:
    """Turn an error in a user's class into one that names the user's own line and what was being
    done, such as ``"Net.forward"``; errors of ifmixup's own classes pass as they are.
    """
    try:
        yield
    except Exception as error:
        if cls.__module__.startswith("ifmixup.") or isinstance(error, ComponentError):
            raise
        raise ComponentError(f"{doing} failed: {told(error)}") from error


def told(error: BaseException) -> str:
    """An error, and the last line of the user's own code that it passed through."""
    where = ""
    others = (str(Path(__file__).parent), sysconfig.get_path("stdlib"), "<frozen")
    for frame in traceback.extract_tb(error.__traceback__):
        if "site-packages" not in frame.filename and not frame.filename.startswith(others):
            line = f": {frame.line}" if frame.line else ""
            where = f" ({Path(frame.filename).name}, line {frame.lineno}{line})"
    return f"{type(error).__name__}: {error}{where}"


def _modules_of(path: Path) -> list[ModuleType]:
    """The loaded modules of a file, a resolved path; a module may be loaded under two names."""
    return [
        module
        for module in list(sys.modules.values())
        if isinstance(file := getattr(module, "__file__", None), str)
        and os.path.basename(file) == path.name
        and Path(file).resolve() == path
    ]


def _load_file(path: Path, kind: str) -> ModuleType:
    """The module of a file, whose folder is where it finds what it imports."""
    path = path.expanduser()
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r} to load a {kind} from.")
    path = path.resolve()
    files = _files(path)
    if _edited_files(files):  # then all that it imports from its folder is loaded again
        for old in [module for file in files.values() for module in _modules_of(file)]:
            sys.modules.pop(old.__name__, None)
    else:
        for module in _modules_of(path):
            if module.__name__ != "__main__":
                return module
    free = path.stem.isidentifier() and path.stem not in sys.modules
    name = path.stem if free else f"_ifmixup_{hashlib.sha256(bytes(path)).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{str(path)!r} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.parent)
    added = folder not in sys.path
    if added:
        sys.path.insert(0, folder)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(spec.name, None)
        raise ComponentError(f"{path.name} cannot be imported: {told(error)}") from error
    finally:
        if added:
            sys.path.remove(folder)
    return module


def _load_module(name: str, kind: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as python -m does; a console script has it not
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ComponentError(
            f"The module {name!r} cannot be imported: {told(error)}. A file is written as "
            f"'{name.rpartition('.')[2]}.py:Class'."
        ) from error


def _edited_files(files: dict[str, Path]) -> list[str]:
    """Files that have other code than their module; notes the code at the first look."""
    edited = []
    for path in files.values():
        for module in _modules_of(path):
            key, text = (path, module.__name__), _parsed(path)[1]
            if key not in _SEEN or _SEEN[key][1] is not module.__spec__:  # loaded again since
                _SEEN[key] = (text, module.__spec__)
            if _SEEN[key][0] != text:
                edited.append(path.name)
    return edited


def _check_loaded(cls: Any) -> None:
    """Check that a class is what its file says: its runs are stored with the file's digest."""
    now: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        now = getattr(now, name, None)
    stale = _edited_files(_own_files(cls))
    if stale or (isinstance(now, type | FunctionType) and now is not cls):
        what = f"{', '.join(stale)} was edited" if stale else f"{cls.__module__} was loaded again"
        raise ComponentError(
            f"{what} after {cls.__name__} was imported, which is still the old class. Restart "
            f"Python, or reload the module (importlib.reload) and import the class again."
        )


def _own_modules(cls: Any) -> Iterator[ModuleType]:
    """The loaded modules of a class's own folder, unless they are installed."""
    installed = tuple({sysconfig.get_paths()[key] for key in ("purelib", "platlib", "stdlib")})
    if cls.__module__ == "__main__":  # which goes by value itself
        folder = _main_folder()
        files = [Path(f) for m in list(sys.modules.values()) if (f := getattr(m, "__file__", None))]
        paths = {path.resolve() for path in files if path.suffix == ".py"}
        own = [path for path in paths if path.parent == folder]
    else:
        own = list(_own_files(cls).values())
    for path in own:
        if not str(path).startswith(installed):
            yield from (m for m in _modules_of(path) if m.__name__ != "__main__")


def _own_files(cls: Any) -> dict[str, Path]:
    """The file of a class's module and those that it imports from the same folder."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        raise _no_source(cls)
    return _files(Path(file).resolve(), cls.__module__.rpartition(".")[0])


def _files(first: Path, package: str = "") -> dict[str, Path]:
    """A file, as ``""``, and those that it imports from its folder, by their names there."""
    folder = first.parent
    found = {"": first}
    waiting = [first]
    while waiting:
        path = waiting.pop()
        for candidate in _imports(path, folder, package):
            if candidate.is_file() and candidate.resolve() not in found.values():
                found[candidate.relative_to(folder).as_posix()] = candidate.resolve()
                waiting.append(candidate.resolve())
    return found


def _imports(path: Path, folder: Path, package: str) -> Iterator[Path]:
    """Where the modules that a file imports would be, if they are in ``folder``."""
    for node in ast.walk(_parsed(path)[0]):
        base, names = folder, []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = f"{node.module}." if node.module else ""
            names = [f"{module}{alias.name}" for alias in node.names]
            if node.level:
                base = [path.parent, *path.parent.parents][node.level - 1]
        if not base.is_relative_to(folder):
            continue
        for name in names:
            inner = name.removeprefix(f"{package}.") if package and base == folder else name
            parts = inner.split(".")
            for count in range(1, len(parts) + 1):
                inside = base.joinpath(*parts[:count])
                yield inside.with_name(f"{inside.name}.py")
                yield inside / "__init__.py"


def _parsed(path: Path) -> tuple[ast.Module, str]:
    """The code of a file, and its text without comments, docstrings and formatting."""
    try:
        return _parsed_content(path.read_bytes())
    except SyntaxError as error:
        raise ComponentError(
            f"{path.name}, line {error.lineno}, is not valid Python: {error.msg}."
        ) from error


@lru_cache(maxsize=256)
def _parsed_content(content: bytes) -> tuple[ast.Module, str]:
    tree = ast.parse(content)
    return tree, _unparse(tree)


def _unparse(tree: ast.AST) -> str:
    """Code without comments, docstrings and formatting."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | _Definition):
            first = node.body[0] if node.body else None
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _main_folder() -> Path:
    """The folder of the script, or of the notebook."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    return Path(script).resolve().parent if script else Path.cwd()


def _of_main(cls: Any) -> dict[str, str]:
    """The code of a class of a script or a notebook, and of what it uses of the same."""
    main = vars(sys.modules["__main__"])
    found: dict[str, str] = {}
    waiting: list[Any] = [cls]
    while waiting:
        each = waiting.pop()
        if each.__qualname__ in found:
            continue
        tree = _definition(each)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        found[each.__qualname__] = _unparse(tree)
        for name in names & main.keys():
            value = main[name]
            if isinstance(value, type | FunctionType) and value.__module__ == "__main__":
                waiting.append(value)
            elif is_plain(value) or isinstance(value, dict | set | frozenset):
                found[name] = repr(value)
            else:
                found |= _local_module(value)
    return found


def _local_module(value: Any) -> dict[str, str]:
    """The code of a module beside the script that a name was imported from; nothing of others."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    path = getattr(sys.modules.get(str(name)), "__file__", None)
    if path is None or not Path(path).resolve().is_relative_to(_main_folder()):
        return {}
    if "site-packages" in Path(path).parts:  # an environment beside the script
        return {}
    files = _files(Path(path).resolve(), str(name).rpartition(".")[0])
    return {f"{name}/{inner}": _parsed(each)[1] for inner, each in files.items()}


def _definition(value: Any) -> _Definition:
    """Where a class or a function of ``__main__`` is defined."""
    codes = list(_codes(value))
    script = getattr(sys.modules["__main__"], "__file__", None)
    for file in {code.co_filename for code in codes} or {script or ""}:
        linecache.checkcache(file)
        nodes = [
            node
            for node in ast.walk(ast.parse("".join(linecache.getlines(file))))
            if isinstance(node, _Definition) and node.name == value.__name__
        ]
        around = [node for node in nodes if any(_holds(node, code) for code in codes)]
        if around or nodes:
            return max(around or nodes, key=lambda node: node.lineno)
    raise _no_source(value)


def _no_source(value: Any) -> ComponentError:
    return ComponentError(
        f"The source code of {value.__name__} ({value.__module__}) cannot be found. Put it into a "
        f".py file, because its code is part of a run's key."
    )


def _holds(node: _Definition, code: CodeType) -> bool:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return first <= code.co_firstlineno <= (node.end_lineno or first)


def _codes(value: Any) -> Iterator[CodeType]:
    if isinstance(value, FunctionType):
        yield value.__code__
        return
    for each in vars(value).values():
        inner = getattr(each, "__func__", getattr(each, "fget", each))
        inner = getattr(inner, "__wrapped__", inner)
        if isinstance(inner, FunctionType) and inner.__module__ == "__main__":
            yield inner.__code__
