"""A dependency protects a route. Its handler gets the verdict."""

from typing import Annotated

from fastapi import Depends, FastAPI
from keystile import AsyncKeystile
from keystile.fastapi import Passed, answer_refusals, protect

keystile = AsyncKeystile()
app = FastAPI()
answer_refusals(app)

Searches = Annotated[Passed, Depends(protect(keystile))]
Reports = Annotated[Passed, Depends(protect(keystile, cost=5, permissions="reports.read"))]


@app.get("/search")
async def search(verdict: Searches) -> dict[str, object]:
    return {"results": [], "credits_left": verdict.remaining}


@app.get("/report")
async def report(verdict: Reports) -> dict[str, object]:
    return {"report": "a costly one", "credits_left": verdict.remaining}
