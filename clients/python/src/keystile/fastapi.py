"""Protects routes of FastAPI with a dependency."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.params import Security
from fastapi.security import APIKeyHeader, HTTPBearer

from .guard import AnyKeystile, Guard, Reader
from .protection import Problem, passed, problem_of, ratelimit_headers
from .verdict import Passed
from .verification import PermissionQuery, RequestedLimit

__all__ = ["KeyRefused", "Passed", "answer_refusals", "protect"]


class KeyRefused(HTTPException):
    """Ends a refused request. `answer_refusals` makes an application answer it as `application/problem+json`."""

    def __init__(self, problem: Problem) -> None:
        headers = {name: value for name, value in problem.headers.items() if name != "content-type"}
        super().__init__(problem.status, detail=problem.body["detail"], headers=headers)
        self.problem = problem


def answer_refusals(app: FastAPI) -> None:
    """Call it once for each application."""
    app.add_exception_handler(KeyRefused, _answer)


def protect(
    keystile: AnyKeystile,
    *,
    api_id: str | None = None,
    cost: int | None = None,
    permissions: PermissionQuery | None = None,
    tags: Sequence[str] | None = None,
    ratelimits: Sequence[RequestedLimit] | None = None,
    idempotent: bool = False,
    key: Reader | None = None,
    client_ip: Reader | None = None,
) -> Callable[..., Awaitable[Passed]]:
    """
    A dependency that answers the verdict: `Annotated[Passed, Depends(protect(keystile, cost=2))]`.

    key: finds the key in a request. Default: `Authorization: Bearer`, then `X-API-Key`.
    client_ip: finds the address of the client, for keys with an `ipAllowlist`.
    The other options are those of `Keystile.verify`.
    """
    guard = Guard(
        keystile,
        api_id=api_id,
        cost=cost,
        permissions=permissions,
        tags=tags,
        ratelimits=ratelimits,
        idempotent=idempotent,
        key=key,
        client_ip=client_ip,
    )

    async def ask(request: Request, response: Response) -> Passed:
        verdict = await guard.ask(request)
        passing = passed(verdict)
        if passing is None:
            raise KeyRefused(problem_of(verdict))
        response.headers.update(ratelimit_headers(verdict))
        return passing

    async def ask_as_documented(
        request: Request,
        response: Response,
        # These two only show in the OpenAPI document where the key is. They refuse nothing.
        _bearer: Annotated[object, Security(_BEARER)],
        _header: Annotated[object, Security(_HEADER)],
    ) -> Passed:
        return await ask(request, response)

    return ask_as_documented if key is None else ask


_BEARER = HTTPBearer(auto_error=False, scheme_name="ApiKeyBearer")
_HEADER = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="ApiKeyHeader")


async def _answer(_request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, KeyRefused)
    problem = refusal.problem
    return Response(problem.content(), problem.status, dict(problem.headers))
