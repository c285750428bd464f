"""The `vlmfail` command: verbs, and how their errors reach the user."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..runs.interruption import is_interruption
from .bench import bench
from .console import note, tame, worded
from .doctor import doctor
from .estimate import estimate
from .label import label
from .list import list_names
from .preview import preview
from .replay import replay
from .report import report
from .resume import resume
from .runs import runs
from .search import search
from .serve import serve

INTERRUPTED = 130

MEDIUM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
"""What a disk or a terminal says when it takes no more: nobody's programming mistake."""


class Interrupted(Exception):
    """Ctrl-C reached a verb, which did not end by itself."""


class _Verbs(TyperGroup):
    """Versions of typer make different things of a Ctrl-C, some of them without a word."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BaseException as error:
            if is_interruption(error):
                raise Interrupted from error
            raise


app = typer.Typer(
    name="vlmfail",
    cls=_Verbs,
    help="Find interpretable failure modes of vision-language models and policies.",
    epilog="Start with: vlmfail search VLMFail-Driving-v0 --budget 200",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"vlmfail {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


app.command("list", epilog="Example: vlmfail list --concepts VLMFail-Driving-v0")(list_names)
app.command(epilog="Example: vlmfail preview VLMFail-Driving-v0 --concepts cyclist,near --grid")(
    preview
)
app.command(
    epilog="Example: vlmfail search VLMFail-Driving-v0 --searcher gpts --model my_model.py:answer"
)(search)
app.command(
    epilog="Example: vlmfail estimate VLMFail-Driving-v0 --model openai:MODEL --budget 1000"
)(estimate)
app.command(epilog="Example: vlmfail bench -e VLMFail-Planted-v0 -s random,beam,gpts --seeds 10")(
    bench
)
app.command(epilog="Example: vlmfail doctor --models openai:MODEL --models tiny-vlm")(doctor)
app.command(epilog="Example: vlmfail resume runs/driving-gpts-tiny-vlm-s0")(resume)
app.command(epilog="Example: vlmfail replay runs/driving-gpts-tiny-vlm-s0 17")(replay)
app.command(epilog="Example: vlmfail runs")(runs)
app.command(epilog="Example: vlmfail report runs/driving-gpts-tiny-vlm-s0 --out report.html")(
    report
)
app.command(epilog="Example: vlmfail serve tiny-vlm --port 8000")(serve)
app.command(epilog="Example: vlmfail label runs/driving-gpts-tiny-vlm-s0 --reviewer ann")(label)


def _reader_has_gone(error: BaseException | None) -> bool:
    """Whether an exit comes of a closed pipe: click and rich exit by themselves then."""
    while error is not None:
        if isinstance(error, BrokenPipeError):
            return True
        error = error.__context__
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    0 is fine, 1 a finding, 2 the caller's mistake, 3 the machine's fault, 130 an interruption.
    Mistakes and faults are one line on stderr.

    Args:
        arguments: Words after the command's name; the process's own by default.
    """
    from ..core.errors import VLMFailError

    words = list(sys.argv[1:] if arguments is None else arguments)
    _sound_streams()
    try:
        result = app(args=words, prog_name="vlmfail", standalone_mode=False, obj=words)
    except VLMFailError as error:
        _complain(str(error))
        return error.exit_code
    except (KeyboardInterrupt, Interrupted, typer.Abort):
        _complain("interrupted")
        return INTERRUPTED
    except SystemExit as error:
        if _reader_has_gone(error):
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            return 0
        # Only a plug-in exits here; its own exit code would pass for the search's.
        _complain(f"stopped: a plug-in called sys.exit({error.code!r})")
        return 3
    except BrokenPipeError:
        # The reader (head, less) has gone: nothing more to say, and nothing went wrong.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        return 0
    except OSError as error:
        if error.errno not in MEDIUM:
            _explain()
        else:
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        _complain(f"stopped: {error}")
        return 3
    except Exception as error:
        # The parser's exceptions moved between versions of typer; what they offer did not.
        if not hasattr(error, "format_message"):
            _explain()
            _complain(f"stopped by an unexpected {type(error).__name__}: {error}")
            return 3
        _complain(f"{error.format_message()} (vlmfail --help)")
        return int(getattr(error, "exit_code", 2))
    return result if isinstance(result, int) else 0


def _complain(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads stderr either
        print(f"vlmfail: {tame(text)}", file=sys.stderr)  # noqa: T201


def _explain() -> None:
    """Print the traceback of what nobody expected, which may quote anything."""
    with contextlib.suppress(OSError):
        note(traceback.format_exc().rstrip())


def _sound_streams() -> None:
    """Let a name that the terminal's encoding lacks be shown otherwise, not end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")


def _open_standard_files() -> None:
    """Open what the caller closed (``>&-``): else the next file, the run's, would become stdout."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)


def run() -> None:
    """Entry point of the `vlmfail` command."""
    _open_standard_files()
    warnings.formatwarning = worded
    code = main()
    # A model's exit handlers may print: stdout has its one JSON object already.
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
        if "--json" in sys.argv:
            os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
