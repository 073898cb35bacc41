"""The script that makes images and chart of a release."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from mirrorwatch.cli import main
from tests.deploy.charts import CHART, KUBERNETES, call_helm
from tests.support.programs import program

pytestmark = [pytest.mark.slow, pytest.mark.helm]

ROOT = CHART.parent.parent.parent
REGISTRY = "registry.example/team"
IMAGES = {
    f"{REGISTRY}/{name}:0.1.0"
    for name in (
        "mirrorwatch",
        "mirrorwatch-audit",
        "mirrorwatch-audit-on-kubernetes",
    )
}


@pytest.mark.parametrize("push", [False, True], ids=["build", "push"])
def test_a_release_pushes_what_it_built_and_only_if_asked(
    tmp_path: Path, *, push: bool
) -> None:
    log = tmp_path / "log"
    fakes = tmp_path / "bin"
    fakes.mkdir()
    helm = program("helm")
    for name, real in (("docker", "true"), ("helm", f'exec {helm} "$@"')):
        fake = fakes / name
        fake.write_text(
            f'#!/bin/sh\necho "{name} $*" >> {log}\n'
            f'[ "$1" = push ] && exit 0\n{real}\n'
        )
        fake.chmod(0o755)
    folder = tmp_path / "dist"
    script: list[str | Path] = [ROOT / "deploy" / "release.sh", REGISTRY]
    script += [folder, *(["--push"] if push else [])]
    subprocess.run(
        script,
        env={**os.environ, "PATH": f"{fakes}:{os.environ['PATH']}"},
        check=True,
        capture_output=True,
        timeout=120,
    )
    calls = [line.split() for line in log.read_text().splitlines()]
    assert {c[-2] for c in calls if c[:2] == ["docker", "build"]} == IMAGES
    package = folder / "mirrorwatch-0.1.0.tgz"
    pushed = {c[2] for c in calls if c[1] == "push"}
    assert pushed == ({*IMAGES, str(package)} if push else set())
    values = yaml.safe_load(call_helm("show", "values", package))
    assert values["image"]["repository"] == f"{REGISTRY}/mirrorwatch"
    assert values["audit"]["image"]["repository"] == ""
    # The values of `init` install it as they are.
    made = tmp_path / "values.yaml"
    export = ROOT / "tests" / "data" / "init" / "strimzi-v1beta2.yaml"
    words = ["init", "--from-strimzi", str(export), "--helm", str(made)]
    assert CliRunner().invoke(main, words).exit_code == 0
    version = ("--kube-version", KUBERNETES)
    text = call_helm("template", "m", package, *version, "--values", made)
    assert f"image: {REGISTRY}/mirrorwatch:0.1.0\n" in text
