"""`vlmfail preview`: look at scenes before paying for a search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import RunFolderError, SceneError, UsageError
from .console import emit, facts, note, pairs, reserved_stdout, say

if TYPE_CHECKING:
    from ..core import Picture
    from ..envs.trials import PreparedTrial

GRID = 9


def preview(
    env: Annotated[str, typer.Argument(help="Env id, or a domain as module_or_file:Name.")],
    concepts: Annotated[
        str | None,
        typer.Option(
            "--concepts",
            "--candidate",
            help="Concept ids, separated by commas, or a scene vector as object=apple,x=-0.3,...; "
            "by default a random one.",
        ),
    ] = None,
    grid: Annotated[
        bool,
        typer.Option("--grid", help="Nine scenes on a sheet, of nine sets by default."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the scenes.")] = 0,
    out: Annotated[Path, typer.Option(help="The PNG file to write.")] = Path("preview.png"),
    renderer: Annotated[str, typer.Option(help="Renderer of the scenes.")] = "embree",
    env_arg: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Option of the env.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Draw a scene, with its question and the right answer, or a sheet of scenes."""
    import numpy as np

    from ..core import check_seed, plays_episodes
    from ..envs.pictured_sets import candidate_space
    from ..envs.registry import make_domain
    from ..envs.trials import prepare_trial

    check_seed(seed)
    with reserved_stdout():
        domain: Any = make_domain(env, **pairs("--env-arg", env_arg or []))
    rng = np.random.default_rng(seed)
    if plays_episodes(domain):
        given = None if concepts is None else _parse(domain, domain.space, concepts)
        return _preview_episodes(env, domain, given, rng, seed, GRID if grid else 1, out, as_json)
    with reserved_stdout():
        tracer = domain.make_renderer(renderer)
        space = candidate_space(domain.space, tracer)
        given = None if concepts is None else _parse(domain, space, concepts)
        prepared: list[PreparedTrial] = []
        for _ in range(GRID if grid else 1):
            candidate = space.sample(rng) if given is None else given
            # The same set again shows its next trial, as a search would.
            index = sum(scene.key == domain.space.key(candidate) for scene in prepared)
            prepared.append(prepare_trial(domain, tracer, candidate, index, seed))
    drawn = [scene for scene in prepared if scene.picture is not None]
    if not drawn:
        raise SceneError(
            f"no scene of {{{prepared[0].key}}} could be drawn: {prepared[0].note}; "
            "try another --seed"
        )
    _write(out, _sheet(drawn) if grid else _picture(drawn[0]))
    value = {"env": env, "seed": seed, "out": str(out), "scenes": [_scene(s) for s in prepared]}
    if as_json:
        emit(value)
    elif grid:
        facts({"sheet": out, "scenes": f"{len(drawn)} of {len(prepared)} drawn"})
    else:
        _print(drawn[0], out)
    if len(drawn) < len(prepared):
        missing = [scene for scene in prepared if scene.picture is None]
        why = f": {missing[0].note}" if all("generated" in s.scene for s in missing) else ""
        note(f"{len(missing)} invalid scenes are left out{why}")
    return 0


def _parse(domain: Any, space: Any, text: str) -> Any:
    if space.kind == "vector" and hasattr(space, "parse"):
        return space.parse(text)
    if space.kind != "concept_set":
        raise UsageError(f"--concepts: the candidates of {domain.name} are no concept sets")
    return space.check(space.parse(text))


def _preview_episodes(
    env: str,
    domain: Any,
    given: Any,
    rng: Any,
    seed: int,
    count: int,
    out: Path,
    as_json: bool,
) -> int:
    """Draw what a policy would be put before."""
    scenes: list[dict[str, Any]] = []
    pictures: list[Picture] = []
    space = domain.space
    with reserved_stdout():
        world = domain.make_world()
        try:
            # A scene vector is one scene: a sheet of it would show the same nine times.
            for _ in range(count if given is None else 1):
                candidate = space.sample(rng) if given is None else given
                scene: dict[str, Any] = {"key": space.key(candidate), "valid": True, "note": ""}
                try:
                    scene["scene"], picture = domain.preview(world, candidate)
                    pictures.append(picture)
                except SceneError as error:
                    scene |= {"valid": False, "note": str(error), "scene": {}}
                scenes.append(scene)
        finally:
            world.close()
    if not pictures:
        raise SceneError(f"no scene of {scenes[0]['key']} can be set up: {scenes[0]['note']}")
    valid = [scene for scene in scenes if scene["valid"]]
    if count == 1 or given is not None:
        _write(out, pictures[0])
    else:
        from ..rendering.contact_sheet import contact_sheet

        captions = [str(scene["scene"]["instruction"]) for scene in valid]
        _write(out, contact_sheet(pictures, captions, columns=3))
    if as_json:
        emit({"env": env, "seed": seed, "out": str(out), "scenes": scenes})
    else:
        facts(
            {
                "picture": out,
                "scenes": f"{len(valid)} of {len(scenes)} can be set up" * (len(scenes) > 1),
                "candidate": valid[0]["key"] if len(scenes) == 1 else None,
                "instruction": valid[0]["scene"]["instruction"] if len(scenes) == 1 else None,
            }
        )
    if len(valid) < len(scenes):
        note(f"{len(scenes) - len(valid)} invalid scenes are left out")
    return 0


def _picture(scene: PreparedTrial) -> Picture:
    if scene.picture is None:
        raise SceneError(scene.note)
    return scene.picture


def _sheet(scenes: list[PreparedTrial]) -> Picture:
    from ..rendering.contact_sheet import contact_sheet

    captions = [
        f"{s.key.replace('+', ' + ')}\nright: {s.truth.expected if s.truth else '?'}"
        for s in scenes
    ]
    return contact_sheet([_picture(scene) for scene in scenes], captions, columns=3)


def _scene(scene: PreparedTrial) -> dict[str, Any]:
    truth = scene.truth
    return {
        "key": scene.key,
        "index": scene.index,
        "valid": scene.picture is not None,
        "note": scene.note,
        "expected": truth.expected if truth else None,
        "accepted": sorted(truth.accepted) if truth else [],
        "rule": truth.rule if truth else None,
        "reason": truth.reason if truth else None,
        "prompt": scene.question.prompt if scene.question else None,
        "picture_sha256": scene.picture.sha256 if scene.picture else None,
        "scene": scene.scene,
    }


def _print(scene: PreparedTrial, out: Path) -> None:
    value = _scene(scene)
    facts(
        {
            "picture": out,
            "concepts": scene.key,
            "right": " or ".join(value["accepted"]),
            "rule": f"{value['rule']}: {value['reason']}",
        }
    )
    say(f"\n--- question ---\n{value['prompt']}")


def _write(out: Path, picture: Picture) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(picture.png)
    except OSError as error:
        raise RunFolderError(
            f"cannot write {out} ({error.strerror}): choose another --out"
        ) from error
