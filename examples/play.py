"""Two agents play a game; one of them is yours."""

from tengen import AnyState, Decision, go, load_agent, play_game


class FirstLegalMove:
    """An agent of one's own."""

    name = "first legal move"

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The first move there is."""
        return Decision(state.legal_moves()[0])

    def close(self) -> None:
        """Nothing to free."""


def main() -> None:
    """Play a game on 5x5, and one move by hand."""
    opponent = load_agent("uct:playouts=100", seed=1)
    record = play_game(FirstLegalMove(), opponent, go.State.new(size=5))
    print(record)
    state = go.State.new(size=9)
    decision = opponent.choose(state)
    print(state.play(decision.move))


if __name__ == "__main__":
    main()
