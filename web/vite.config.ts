import { defineConfig } from "vite";

// The built page goes into the Python package, which serves it.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/tengen/web/static",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: { proxy: { "/talk": { target: "ws://127.0.0.1:8361", ws: true } } },
});
