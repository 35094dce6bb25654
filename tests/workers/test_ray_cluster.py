"""The settings of a cluster's head are the same wherever one is started."""

import json
import re
from pathlib import Path

from tengen.workers.ray_workers import HEALTH_CHECKS

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_files_to_copy_have_the_health_checks_of_the_code() -> None:
    for name in ("head.sh", "ray-up.yaml"):
        found = re.search(r"--system-config='(\{.*?\})'", (DEPLOY / name).read_text(), re.DOTALL)
        assert found is not None
        assert json.loads(found[1]) == HEALTH_CHECKS
