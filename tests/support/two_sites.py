"""Two sites with servers of their own, and the file that maps one to the
other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from mirrorwatch.cli import main
from tests.support.http import HTTP
from tests.support.influx import ADMIN, PASSWORD, Influx1
from tests.support.tick_site import Chronograf, Kapacitor

__all__ = ["SECRET", "RealSite", "TwoSites"]

SECRET = "s3cret-key"  # noqa: S105


class RealSite:
    """InfluxDB, Kapacitor and Chronograf of one site.

    Parameters
    ----------
    folder
        Where they keep what they keep.
    database
        What the efd is called there.
    policy
        Its retention policy.
    """

    def __init__(self, folder: Path, *, database: str, policy: str) -> None:
        (folder / "influx").mkdir(parents=True)
        self.name = folder.name
        self.database, self.policy = database, policy
        self.influx = Influx1(folder / "influx")
        self.kapacitor = Kapacitor(folder / "kapacitor", self.influx)
        self.chronograf = Chronograf(folder / "chronograf", self.influx)
        self.sources: dict[str, str] = {}

    def start(self, sources: Sequence[str] = ("efd",)) -> None:
        for server in (self.kapacitor, self.chronograf):
            server.find()
        self.influx.start()
        self.influx.set_up()
        self.influx.query(
            f"CREATE DATABASE {self.database} WITH DURATION INF "
            f'NAME "{self.policy}"'
        ).raise_for_status()
        self.kapacitor.start()
        self.chronograf.start()
        for name in sources:
            self.sources[name] = self.chronograf.add_source(name)

    def stop(self) -> None:
        for server in (self.chronograf, self.kapacitor, self.influx):
            server.kill()

    def write(self, *lines: str) -> None:
        """Write points into the efd."""
        HTTP.post(
            f"{self.influx.url}/write",
            params={"db": self.database, "rp": self.policy},
            content="\n".join(lines),
            auth=(ADMIN, PASSWORD),
            timeout=120,
        ).raise_for_status()

    def to_config(self) -> dict[str, object]:
        return {
            "chronograf": {"url": self.chronograf.url},
            "kapacitor": {"url": self.kapacitor.url},
            "values": {
                "database": self.database,
                "retention_policy": self.policy,
                "source": f"/chronograf/v1/sources/{self.sources['efd']}",
                "channel": f"#{self.name}",
                "key": f"{SECRET}-{self.name}",
                "hook": f"http://{self.name}.example:1/hook",
                **{
                    topic: f"{self.name}.{topic}"
                    for topic in ("dome", "alerts", "warnings", "all", "more")
                },
            },
        }


@dataclass
class TwoSites:
    """A test stand, the summit, and how to copy between them."""

    folder: Path
    stand: RealSite
    summit: RealSite
    config: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.config = {
            site.name: site.to_config() for site in (self.stand, self.summit)
        }

    def run(self, *arguments: str, config: object = None) -> Result:
        """Run ``mirrorwatch ARGUMENTS`` with the file of sites."""
        file = self.folder / "sites.yaml"
        file.write_text(yaml.safe_dump({"sites": config or self.config}))
        group, command, *options = arguments
        return CliRunner().invoke(
            main, [group, command, "--sites", str(file), *options]
        )

    def copy(self, group: str, command: str, *options: str) -> Result:
        """Run a command from the stand to the summit."""
        ends = ("--from", "stand", "--to", "summit")
        return self.run(group, command, *ends, *options)
