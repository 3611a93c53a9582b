// A round trip with the client of oapi-codegen.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
)

var background = context.Background()

func main() {
	api := client("API_KEY")
	limit := int32(5)
	list, err := api.ListPetsWithResponse(background, &ListPetsParams{Limit: &limit})
	expect(err, nil)
	expect(len(*list.JSON200), 0)
	for _, category := range []int64{9223372036854775807, 9007199254740993} {
		created, err := api.CreatePetWithResponse(background, CreatePetRequest{Name: "Żubr", CategoryId: category})
		expect(err, nil)
		expect(created.JSON201.CategoryId, category)
		expect(created.JSON201.Status, PetStatus("available"))
		got, err := api.GetPetWithResponse(background, created.JSON201.Id)
		expect(err, nil)
		expect(*got.JSON200, *created.JSON201)
	}

	status := PetStatus("asleep")
	invalid, err := api.CreatePetWithResponse(background, CreatePetRequest{Name: "x", CategoryId: 1, Status: &status})
	expect(err, nil)
	expect(string(invalid.JSON400.Code), "invalid_body")
	unknown, err := client("WRONG_KEY").ListPetsWithResponse(background, nil)
	expect(err, nil)
	expect(string(unknown.JSON401.Code), "invalid_api_key")
	missing, err := api.GetPetWithResponse(background, 4711)
	expect(err, nil)
	expect(string(missing.JSON404.Code), "pet_not_found")
	limited := client("LIMITED_KEY")
	for i := 0; i < 5 && list.StatusCode() == 200; i++ {
		list, err = limited.ListPetsWithResponse(background, nil)
		expect(err, nil)
	}
	expect(string(list.JSON429.Code), "rate_limited")
	seconds, err := strconv.Atoi(list.HTTPResponse.Header.Get("Retry-After"))
	expect(err, nil)
	expect(seconds >= 1, true)
}

func client(key string) *ClientWithResponses {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv(key))
		return nil
	}
	made, err := NewClientWithResponses(os.Getenv("BASE_URL"), WithRequestEditorFn(authorize))
	expect(err, nil)
	return made
}

func expect(actual, expected any) {
	if actual != expected {
		panic(fmt.Sprintf("%v instead of %v", actual, expected))
	}
}
