"""The pet store with FastAPI, after its tutorial: pydantic models, dependencies, exception handlers, a middleware."""
import itertools
import json
import os
import time
from collections import Counter
from enum import Enum
from http import HTTPStatus
from typing import Annotated

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field, field_validator
from starlette.exceptions import HTTPException as StarletteHTTPException

PER_MINUTE_WITHOUT_KEY = 1000
KEYS = {key["key"]: (key["perMinute"], key["perDay"]) for key in json.loads(os.environ["PEER_KEYS"])}

Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]


class PetStatus(str, Enum):
    available = "available"
    pending = "pending"
    sold = "sold"


class NewPet(BaseModel):
    name: str
    categoryId: Int64
    status: PetStatus = PetStatus.available

    @field_validator("name")
    @classmethod
    def is_unicode(cls, name: str) -> str:
        name.encode()  # a lone surrogate is a ValueError here, and would be a 500 in every response
        return name


class Pet(NewPet):
    id: Int64


app = FastAPI(title="Pet store", version="1.0.0")
bearer = HTTPBearer(auto_error=False)
pets: dict[int, Pet] = {}
ids = itertools.count(1)
used: Counter = Counter()


def valid_key(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> str:
    if credentials is None or credentials.credentials not in KEYS:
        raise HTTPException(401, "The API key is missing or invalid.", {"WWW-Authenticate": "Bearer"})
    return credentials.credentials


router = APIRouter(prefix="/v1", dependencies=[Depends(valid_key)])


@router.get("/pets")
async def list_pets(limit: Annotated[int, Query(ge=1, le=100)] = 20, status: PetStatus | None = None) -> list[Pet]:
    matching = (pet for pet in pets.values() if status is None or pet.status == status)
    return list(itertools.islice(matching, limit))


@router.post("/pets", status_code=201)
async def create_pet(new: NewPet) -> Pet:
    pet = Pet(id=next(ids), **new.model_dump())
    pets[pet.id] = pet
    return pet


@router.get("/pets/{pet_id}", deprecated=True)
async def get_pet(pet_id: int) -> Pet:
    if pet_id not in pets:
        raise HTTPException(404, "There is no such animal.")
    return pets[pet_id]


@router.get("/store/orders")
async def list_orders() -> list[dict]:
    return []


app.include_router(router)


def error(status: int, message: str, headers: dict | None = None) -> JSONResponse:
    body = {"code": HTTPStatus(status).name.lower(), "message": message, "status": status}
    return JSONResponse(body, status, headers)


@app.exception_handler(StarletteHTTPException)
async def refuse(_: Request, exc: StarletteHTTPException) -> JSONResponse:
    return error(exc.status_code, str(exc.detail), exc.headers)


@app.exception_handler(RequestValidationError)
async def refuse_values(_: Request, exc: RequestValidationError) -> JSONResponse:
    return error(400, "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors()))


@app.middleware("http")
async def limit_rate(request: Request, call_next):
    """Counts each request in the clock's minute and day, and describes the window with fewer requests left."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    who = key if scheme.lower() == "bearer" and key in KEYS else request.client.host
    per_minute, per_day = KEYS.get(who, (PER_MINUTE_WITHOUT_KEY, 100_000))
    now = time.time()
    windows = [(limit, (who, seconds, int(now // seconds))) for limit, seconds in ((per_minute, 60), (per_day, 86400))]
    admitted = all(used[window] < limit for limit, window in windows)
    if admitted:
        used.update(window for _, window in windows)
    limit, window = min(windows, key=lambda entry: entry[0] - used[entry[1]])
    reset = (window[2] + 1) * window[1]
    response = await call_next(request) if admitted else error(429, "Too many requests.")
    if not admitted:
        response.headers["Retry-After"] = str(int(reset - now) + 1)
    response.headers["X-RateLimit-Limit"] = str(limit)
    response.headers["X-RateLimit-Remaining"] = str(limit - used[window])
    response.headers["X-RateLimit-Reset"] = str(reset)
    return response


uvicorn.run(app, host="127.0.0.1", port=0, log_level="info", access_log=False)
