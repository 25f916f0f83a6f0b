"""Headlight: see a Transformer translate, head by head. Run with `streamlit run app.py`.

Streamlit reads this file twice over: the server finds `app` in it and imports it, a visitor's run executes it.
"""

if __name__ == "__main__":
    import headlight.lessons as lessons
    from headlight.app.main import main

    main(lessons)
else:
    import asyncio
    import contextlib

    from starlette.middleware import Middleware
    from streamlit.starlette import App

    from headlight.app.open_files import HandshakeLimit
    from headlight.app.server import give_memory_back, open_browser
    from headlight.classroom import check_store, class_routes, housekeeping
    from headlight.components.modules import module_routes

    check_store()

    @contextlib.asynccontextmanager
    async def lifespan(_: App):
        """Do what the server does besides answering."""
        asyncio.get_running_loop().call_soon(open_browser)
        memory = asyncio.create_task(give_memory_back())
        async with housekeeping():
            yield
        memory.cancel()

    routes = [*class_routes(), *module_routes()]
    app = App(__file__, routes=routes, lifespan=lifespan, middleware=[Middleware(HandshakeLimit)])
