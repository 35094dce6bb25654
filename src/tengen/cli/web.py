"""`tengen web`: play, analyse and watch in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from tengen.cli.options import formerly
from tengen.cli.progress import say_if_cold

EPILOGS = {
    "web": "\n\n".join(
        f"[cyan]{command}[/cyan]  {meaning}"
        for command, meaning in (
            ("tengen web", "open the browser and play"),
            ("tengen web --port 9000 --no-browser", "on another port; open the address yourself"),
            ('tengen web --offer "GNU Go=gtp:gnugo --mode gtp"', "offer another program as an opponent"),
            ("tengen web --runs /shared/runs", "watch training runs, also of another machine"),
            ("tengen web --host 0.0.0.0", "for others on your network, who need the address that is printed"),
            ("tengen web --public https://go.example.org", "behind a proxy with TLS on this machine"),
        )
    )
}


@formerly(offer="opponent", games_folder="games")
def web(
    port: Annotated[int, typer.Option(help="The port to listen on; 0: any that is free.", min=0, max=65535)] = 8361,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(help="The token that pages need; a new one at every start if not given.")
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let in every user and program of this machine without a token.")
    ] = False,
    public: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The address that people see, if a proxy stands before the server: https://go.example.org",
        ),
    ] = "",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in your browser.")] = True,
    offer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SPEC",
            help="Offer an opponent of your own, also one that pages cannot ask for (gtp:, uci:, a model file); "
            "may be repeated.",
        ),
    ] = None,
    runs: Annotated[
        Path, typer.Option(help="The folder whose training runs and tournaments are shown; it is only read.")
    ] = Path("runs"),
    games_folder: Annotated[
        Path | None, typer.Option(help="The folder that games are kept in; your state folder if not given.")
    ] = None,
) -> None:
    """Play Go, Microchess and every other game in your browser.

    The page is served on this machine alone unless you give --host, and only to browsers that have opened the address
    with the token that is printed. Games that you play are kept over a reload or a restart.
    """
    import hmac
    import secrets
    from urllib.parse import urlsplit

    from tengen.runs.files import user_state
    from tengen.web.app import WebConfig, check_built
    from tengen.web.guard import is_loopback, kept_secret
    from tengen.web.server import run

    check_built()
    local = is_loopback(host)
    if token is not None and len(token) < 8:
        raise ValueError("a token has at least 8 characters")
    if no_token and (token is not None or not local):
        raise ValueError("--no-token is for a server on this machine alone: leave out --token and --host")
    parts = urlsplit(public)
    if public and (parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/")):
        raise ValueError(f"--public {public[:60]} is not possible: write https://NAME, without a path")
    cookie = ""
    if not no_token:
        secret = kept_secret(user_state() / "web-secret").encode()
        cookie = hmac.new(secret, (token or "").encode(), "sha256").hexdigest()
        token = token or secrets.token_urlsafe(18)
    own = dict(_named(text) for text in offer or ())
    say_if_cold()
    folder = games_folder or user_state() / "web-games"
    run(WebConfig(folder, token or "", cookie, public, local, own, runs), host, port, browser)


def _named(text: str) -> tuple[str, str]:
    name, equals, spec = text.partition("=")
    if not equals or not name.strip() or not spec.strip():
        raise ValueError(f"--offer {text[:40]} is not possible: write NAME=SPEC")
    return name.strip(), spec.strip()
