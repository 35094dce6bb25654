"""OpenVINO's engine, one for the process, and how we want it to compile.

It must be one: each engine sets aside a stack for signal handlers when it first compiles, and when it goes it puts
back the stack it found. Should engines not go in the opposite order of their coming, that is the stack of one already
gone, and the next signal, such as Ctrl-C, ends the process with a segmentation fault (OpenVINO 2026.4).
"""

import openvino as ov

_ENGINE = ov.Core()


def compile_graph(graph: ov.Model, threads: int | None, streams: int = 1) -> ov.InferRequest:
    """A graph made ready to run on this CPU, each request with so many threads; None lets OpenVINO choose.

    `streams`: how many requests of the compiled model can run at a time.
    """
    # Some CPUs compute in bfloat16 by default; and pinned threads of two processes fight for one core.
    settings = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": streams, "ENABLE_CPU_PINNING": False}
    if threads is not None:
        settings["INFERENCE_NUM_THREADS"] = threads * streams
    return _ENGINE.compile_model(graph, "CPU", settings).create_infer_request()
