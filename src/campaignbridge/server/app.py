"""The application: which paths there are. Nothing describes it to the outside, and no page is guessed for anybody."""

from fastapi import FastAPI, Response

from campaignbridge.bridge import Bridge
from campaignbridge.server.webhooks import webhook_routes


def make_app(bridge: Bridge) -> FastAPI:
    """Return the application over a bridge, which must be safe to share between threads."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)

    @app.get("/healthz")
    async def healthz() -> Response:
        """Say that this process answers. It asks nobody else."""
        return Response(b"ok", media_type="text/plain", headers={"Cache-Control": "no-store"})

    app.include_router(webhook_routes(bridge))
    return app
