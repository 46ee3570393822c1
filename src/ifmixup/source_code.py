"""The user's code: its digest, which tells changed code, and its way to other processes.

What is digested is what is sent: the module of a class and the modules that it imports from its own
folder. Of a script or a notebook it is the class, and what it uses of the same script or notebook.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle

from ifmixup.errors import ComponentError
from ifmixup.values import is_plain

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def source_digest(cls: type) -> str:
    """A digest of a class's code; comments, docstrings and formatting do not change it."""
    if cls.__module__ == "__main__":
        texts = _of_main(cls)
    else:
        texts = {name: _normal(path.read_text("utf-8")) for name, path in _own_files(cls).items()}
    hasher = hashlib.sha256(cls.__qualname__.encode())
    for name, text in sorted(texts.items()):
        hasher.update(f"\0{name}\0{text}".encode())
    return hasher.hexdigest()[:24]


def pickle_classes(classes: list[type]) -> bytes:
    """Classes for another process of ours, which need not have their files.

    Modules of the user's own folder go by value, installed packages by name.
    """
    own = {m for each in classes if each.__module__ != "__main__" for m in _own_modules(each)}
    registered = []
    try:
        for module in own:
            if module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                registered.append(module)
        content: bytes = cloudpickle.dumps(classes)
        return content
    except Exception as error:
        names = ", ".join(each.__name__ for each in classes)
        raise ComponentError(
            f"{names} cannot be sent to a worker: {type(error).__name__}: {error}. Put the class "
            f"into a file of its own, without open files, locks or tensors at module level."
        ) from error
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def unpickle_classes(content: bytes) -> list[type]:
    """The inverse of :func:`pickle_classes`, in a worker of the process that pickled them."""
    found: list[type] = cloudpickle.loads(content)
    return found


def _own_modules(cls: type) -> Iterator[ModuleType]:
    """The loaded modules of a class's own folder, unless they are installed."""
    installed = tuple({sysconfig.get_paths()[key] for key in ("purelib", "platlib", "stdlib")})
    for path in _own_files(cls).values():
        if str(path).startswith(installed):
            continue
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) == str(path):
                yield module


def _own_files(cls: type) -> dict[str, Path]:
    """The file of a class's module and those that it imports from the same folder, by name."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        raise ComponentError(
            f"The source code of {cls.__name__} ({cls.__module__}) cannot be found. Put the class "
            f"into a .py file, so that changed code can be told from old code."
        )
    first = Path(file).resolve()
    folder, package = first.parent, cls.__module__.rpartition(".")[0]
    found = {first.stem: first}
    waiting = [first]
    while waiting:
        tree = ast.parse(waiting.pop().read_text("utf-8"))
        for name in _imports(tree, package):
            path = _in_folder(folder, name)
            if path is not None and name not in found:
                found[name] = path
                waiting.append(path)
    return found


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    """The names of imported modules as they would be seen from the file's own folder."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
        else:
            continue
        for name in names:
            yield name.removeprefix(f"{package}.") if package else name


def _in_folder(folder: Path, name: str) -> Path | None:
    if not name:
        return None
    path = folder.joinpath(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate.resolve()
    return None


def _normal(text: str) -> str:
    return _unparse(ast.parse(text))


def _unparse(tree: ast.AST) -> str:
    """Code without comments, docstrings and formatting."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | _Definition):
            first = node.body[0] if node.body else None
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _of_main(cls: type) -> dict[str, str]:
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
            elif isinstance(value, ModuleType) or getattr(value, "__module__", None):
                found |= _local_module(value)
            elif is_plain(value):
                found[name] = repr(value)
    return found


def _local_module(value: Any) -> dict[str, str]:
    """The code of a module beside the script that a name was imported from; nothing of others."""
    name = value.__name__ if isinstance(value, ModuleType) else value.__module__
    path = getattr(sys.modules.get(str(name)), "__file__", None)
    script = getattr(sys.modules["__main__"], "__file__", None)
    folder = Path(script).resolve().parent if script else Path.cwd()
    if path is None or Path(path).resolve().parent != folder:
        return {}
    return {str(name): _normal(Path(path).read_text("utf-8"))}


def _definition(value: Any) -> _Definition:
    """Where a class or a function of ``__main__`` is defined."""
    file = next((code.co_filename for code in _codes(value)), None)
    if file is not None:
        text = "".join(linecache.getlines(file))
        nodes = [
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, _Definition) and node.name == value.__name__
        ]
        if nodes:
            return nodes[-1]
    raise ComponentError(
        f"The source code of {value.__name__} cannot be found. Put it into a .py file, so that "
        f"changed code can be told from old code."
    )


def _codes(value: Any) -> Iterator[CodeType]:
    if isinstance(value, FunctionType):
        yield value.__code__
        return
    for each in vars(value).values():
        inner = getattr(each, "__func__", getattr(each, "fget", each))
        if isinstance(inner, FunctionType) and inner.__module__ == "__main__":
            yield inner.__code__
