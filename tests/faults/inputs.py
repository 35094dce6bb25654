"""What the commands under test begin with: records, a dataset, a policy, and a slow site to download from."""

import threading
import time
from functools import cached_property
from pathlib import Path
from typing import Final

from ..data.packed_games import records, tar
from ..data.record_site import Handler, Site

_ARCHIVES: Final = 8
_BLOCK: Final = 1000  # bytes that the slow site sends at a time
_PAUSE: Final = 0.01  # seconds between two of them


class Inputs:
    """All of them, in one folder; each is made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @cached_property
    def records(self) -> Path:
        """A folder of small archives."""
        folder = self._folder / "records"
        if not folder.exists():
            folder.mkdir()
            for number in range(_ARCHIVES):
                tar(folder / f"{number}.tar.gz", records(6, 5 * number))  # so that there are duplicates
        return folder

    @cached_property
    def dataset(self) -> Path:
        """A dataset of random games on 5x5."""
        from tengen.data.build import build_dataset

        from ..data.packed_games import loose, record

        games = loose(self._folder / "games", {f"{seed}.sgf": record(seed, 5, 30) for seed in range(150)})
        build_dataset([games], self._folder / "dataset", workers=1)
        return self._folder / "dataset"

    @cached_property
    def policy(self) -> Path:
        """A policy for 3x3 that has learned nothing."""
        from tengen.encode.encoder import get_encoder
        from tengen.nets.model_file import ModelCard, save_model
        from tengen.nets.network import build_network

        path = self._folder / "policy.safetensors"
        planes = get_encoder("compact").planes
        parts = {"blocks": 1, "filters": 4, "first_kernel": 3, "head_filters": 4, "value": True}
        network = build_network("residual", planes, 3, seed=1, **parts)
        save_model(path, network, ModelCard.of(network, encoder="compact", rules="tromp-taylor"))
        return path

    @cached_property
    def site(self) -> Site:
        """A record site that takes its time, so that a kill can fall between two bytes."""
        site = Site()
        site.RequestHandlerClass = _SlowHandler
        threading.Thread(target=site.serve_forever, daemon=True).start()
        return site


class _SlowHandler(Handler):
    """Sends a file in small pieces."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:  # the client was killed
            self.close_connection = True

    def serve(self, content: bytes, upto: int) -> None:
        file = self.wfile

        class Slowly:
            def write(self, data: bytes) -> None:
                for start in range(0, len(data), _BLOCK):
                    file.write(data[start : start + _BLOCK])
                    file.flush()
                    time.sleep(_PAUSE)

            def __getattr__(self, name: str) -> object:
                return getattr(file, name)

        self.wfile = Slowly()  # type: ignore[assignment]
        try:
            super().serve(content, upto)
        finally:
            self.wfile = file
