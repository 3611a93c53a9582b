"""A round trip with the Python client of openapi-generator."""

import os

import openapi_client as client
from openapi_client.rest import ApiException
from urllib3 import Retry


def pets(key):
    configuration = client.Configuration(host=os.environ["BASE_URL"], access_token=os.environ[key])
    # By default urllib3 waits for Retry-After and repeats the request: a program sees no 429.
    configuration.retries = Retry(respect_retry_after_header=False)
    return client.PetsApi(client.ApiClient(configuration))


def error(call):
    try:
        call()
    except ApiException as refused:
        return refused
    raise AssertionError("the request was not refused")


api = pets("API_KEY")
assert api.list_pets(limit=5) == []
for category in (9223372036854775807, 9007199254740993):
    created = api.create_pet(client.CreatePetRequest(name="Żubr", category_id=category))
    assert (created.category_id, created.status) == (category, "available"), created
    assert api.get_pet(created.id) == created
assert [pet.name for pet in api.list_pets(status="available")] == ["Żubr", "Żubr"]

invalid = error(lambda: api.create_pet(client.CreatePetRequest.model_construct(category_id=1)))
assert (invalid.status, invalid.data.code) == (400, "invalid_body"), invalid
unknown = error(lambda: pets("WRONG_KEY").list_pets())
assert (unknown.status, unknown.data.code) == (401, "invalid_api_key"), unknown
missing = error(lambda: api.get_pet(4711))
assert (missing.status, missing.data.code) == (404, "pet_not_found"), missing

limited = pets("LIMITED_KEY")
refused = error(lambda: [limited.list_pets() for _ in range(5)])
assert (refused.status, refused.data.code) == (429, "rate_limited"), refused
assert int(refused.headers["Retry-After"]) >= 1, refused.headers
