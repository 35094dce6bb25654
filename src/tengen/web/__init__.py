"""Tengen in the browser: the server behind `tengen web`. The page itself is TypeScript, in `web/` of the repository."""
