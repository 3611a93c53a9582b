// A round trip with the Go client of openapi-generator.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"

	petstore "example.test/x/petstore"
)

func main() {
	api, key := pets(), with("API_KEY")
	list, _, err := api.ListPets(key).Limit(5).Execute()
	expect(err, nil)
	expect(len(list), 0)
	for _, category := range []int64{9223372036854775807, 9007199254740993} {
		body := petstore.NewCreatePetRequest("Żubr", category)
		created, _, err := api.CreatePet(key).CreatePetRequest(*body).Execute()
		expect(err, nil)
		expect(created.CategoryId, category)
		expect(created.Status, petstore.PetStatus("available"))
		got, _, err := api.GetPet(key, created.Id).Execute()
		expect(err, nil)
		expect(*got, *created)
	}
	list, _, err = api.ListPets(key).Status("available").Execute()
	expect(err, nil)
	expect(len(list), 2)

	body := petstore.NewCreatePetRequest("x", 1)
	status := petstore.PetStatus("asleep")
	body.Status = &status
	_, response, err := api.CreatePet(key).CreatePetRequest(*body).Execute()
	expectError(response, err, 400, "invalid_body")
	_, response, err = api.ListPets(with("WRONG_KEY")).Execute()
	expectError(response, err, 401, "invalid_api_key")
	_, response, err = api.GetPet(key, 4711).Execute()
	expectError(response, err, 404, "pet_not_found")
	for i := 0; i < 5 && (i == 0 || err == nil); i++ {
		_, response, err = api.ListPets(with("LIMITED_KEY")).Execute()
	}
	expectError(response, err, 429, "rate_limited")
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	expect(err, nil)
	expect(seconds >= 1, true)
}

func pets() *petstore.PetsAPIService {
	configuration := petstore.NewConfiguration()
	configuration.Servers = petstore.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	return petstore.NewAPIClient(configuration).PetsAPI
}

func with(key string) context.Context {
	return context.WithValue(context.Background(), petstore.ContextAccessToken, os.Getenv(key))
}

func expectError(response *http.Response, err error, status int, code string) {
	expect(response.StatusCode, status)
	body := err.(*petstore.GenericOpenAPIError).Model().(petstore.ErrorBody)
	expect(body.Code, code)
}

func expect(actual, expected any) {
	if actual != expected {
		panic(fmt.Sprintf("%v instead of %v", actual, expected))
	}
}
