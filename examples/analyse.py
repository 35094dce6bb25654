"""What an agent thinks of a position: the best moves, who leads, whose the points are."""

import tengen


def main() -> None:
    """Analyse the start of a game on 5x5."""
    state = tengen.go.State.new(size=5, komi=3.5)
    agent = tengen.load_analyst("zero:go5", seed=1)
    *_, last = agent.analyse(state, visits=200)
    for move in last.moves[:3]:
        line = " ".join(state.move_name(each) for each in move.pv[:1])
        print(f"{line}: {move.visits} visits, wins {move.chance:.0%}")
    if last.score is not None and last.ownership is not None:
        print(f"leads by {last.score:.1f} points; {int((last.ownership > 0.5).sum())} points are safe")
    agent.close()


if __name__ == "__main__":
    main()
