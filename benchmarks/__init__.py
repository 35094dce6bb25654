"""Speed beside yardsticks: `tengen bench ...`, and programs that run by `python -m benchmarks.NAME`; see README.md."""
