#!/usr/bin/env python3
"""Registrations as one writes them first with FastAPI and SQLite: SOCKET DATABASE. Durable before
the answer: WAL with synchronous=FULL, one transaction a request."""
import sqlite3
import sys

import uvicorn
from fastapi import FastAPI, Header, Response
from pydantic import BaseModel

socket, path = sys.argv[1:3]
database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
database.execute("PRAGMA journal_mode=WAL")
database.execute("PRAGMA synchronous=FULL")
database.execute(
    "CREATE TABLE registration(token TEXT PRIMARY KEY, service TEXT NOT NULL, "
    "push TEXT NOT NULL) WITHOUT ROWID")
app = FastAPI(openapi_url=None)


class Registration(BaseModel):
    service: str
    token: str


@app.put("/v1/registration", status_code=204)
async def register(body: Registration, authorization: str = Header()):
    database.execute(
        "INSERT INTO registration VALUES(?1,?2,?3) "
        "ON CONFLICT(token) DO UPDATE SET service=?2, push=?3",
        (authorization.removeprefix("Bearer "), body.service, body.token))
    return Response(status_code=204)


uvicorn.run(app, uds=socket, log_level="critical", access_log=False)
