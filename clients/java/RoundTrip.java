import java.util.List;
import java.util.Objects;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.PetsApi;
import org.openapitools.client.model.CreatePetRequest;
import org.openapitools.client.model.ErrorBody;
import org.openapitools.client.model.Pet;
import org.openapitools.client.model.PetStatus;

/** A round trip with the Java client of openapi-generator. */
public class RoundTrip {
  interface Call {
    void run() throws ApiException;
  }

  public static void main(String[] arguments) throws ApiException {
    PetsApi api = pets("API_KEY");
    expect(api.listPets(5, null, null), List.of());
    for (long category : new long[] {9223372036854775807L, 9007199254740993L}) {
      Pet created = api.createPet(new CreatePetRequest().name("Żubr").categoryId(category));
      expect(created.getCategoryId(), category);
      expect(created.getStatus(), PetStatus.AVAILABLE);
      expect(api.getPet(created.getId()), created);
    }
    expect(api.listPets(null, null, PetStatus.AVAILABLE).size(), 2);

    expectError(() -> api.createPet(new CreatePetRequest().categoryId(1L)), 400, "invalid_body");
    expectError(() -> pets("WRONG_KEY").listPets(null, null, null), 401, "invalid_api_key");
    expectError(() -> api.getPet(4711L), 404, "pet_not_found");
    PetsApi limited = pets("LIMITED_KEY");
    ApiException refused = expectError(() -> {
      for (int i = 0; i < 5; i++) limited.listPets(null, null, null);
    }, 429, "rate_limited");
    expect(refused.getResponseHeaders().firstValueAsLong("Retry-After").orElse(0) >= 1, true);
  }

  static PetsApi pets(String key) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    client.setRequestInterceptor((request) -> request.header("Authorization", "Bearer " + System.getenv(key)));
    return new PetsApi(client);
  }

  static ApiException expectError(Call call, int status, String code) throws ApiException {
    try {
      call.run();
    } catch (ApiException refused) {
      expect(refused.getCode(), status);
      try {
        ErrorBody body = new ApiClient().getObjectMapper().readValue(refused.getResponseBody(), ErrorBody.class);
        expect(body.getCode().getValue(), code);
      } catch (java.io.IOException invalid) {
        throw new AssertionError(invalid);
      }
      return refused;
    }
    throw new AssertionError("the request was not refused with " + status);
  }

  static void expect(Object actual, Object expected) {
    if (!Objects.equals(actual, expected)) throw new AssertionError(actual + " instead of " + expected);
  }
}
