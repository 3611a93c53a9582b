// The pet store with net/http and encoding/json of Go's standard library.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type Pet struct {
	ID int64 `json:"id"`
	NewPet
}

// A missing field is nil.
type NewPet struct {
	Name       *string `json:"name"`
	CategoryID *int64  `json:"categoryId"`
	Status     *string `json:"status,omitempty"`
}

type plan struct{ perMinute, perDay int64 }

type window struct {
	who            string
	seconds, index int64
}

var (
	mu   sync.Mutex
	pets []Pet
	used = map[window]int64{}
	keys = map[string]plan{os.Getenv("API_KEY"): {1000, 100_000}, os.Getenv("FREE_KEY"): {60, 1000}}
)

func isStatus(s string) bool { return s == "available" || s == "pending" || s == "sold" }

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func writeError(w http.ResponseWriter, status int, message string) {
	code := strings.ToLower(strings.ReplaceAll(http.StatusText(status), " ", "_"))
	writeJSON(w, status, map[string]any{"code": code, "message": message, "status": status})
}

func listPets(w http.ResponseWriter, r *http.Request) {
	limit, status := 20, r.FormValue("status")
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			writeError(w, http.StatusBadRequest, "limit must be an integer from 1 to 100.")
			return
		}
		limit = n
	}
	if status != "" && !isStatus(status) {
		writeError(w, http.StatusBadRequest, "status must be available, pending or sold.")
		return
	}
	mu.Lock()
	defer mu.Unlock()
	page := []Pet{}
	for _, pet := range pets {
		if len(page) < limit && (status == "" || pet.Status != nil && *pet.Status == status) {
			page = append(page, pet)
		}
	}
	writeJSON(w, http.StatusOK, page)
}

func createPet(w http.ResponseWriter, r *http.Request) {
	var pet NewPet
	if err := json.NewDecoder(r.Body).Decode(&pet); err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	if pet.Name == nil || pet.CategoryID == nil || pet.Status != nil && !isStatus(*pet.Status) {
		writeError(w, http.StatusBadRequest, "name and categoryId are required; status must be available, pending or sold.")
		return
	}
	mu.Lock()
	defer mu.Unlock()
	pets = append(pets, Pet{int64(len(pets) + 1), pet})
	writeJSON(w, http.StatusCreated, pets[len(pets)-1])
}

func getPet(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("petId"), 10, 64)
	mu.Lock()
	defer mu.Unlock()
	if err != nil || id < 1 || id > int64(len(pets)) {
		writeError(w, http.StatusNotFound, "There is no such animal.")
		return
	}
	writeJSON(w, http.StatusOK, pets[id-1])
}

// admit counts a request in the clock's minute and day, unless one of them is full. It returns the window with fewer
// requests left.
func admit(who string, p plan, now int64) (admitted bool, limit, remaining, reset int64) {
	mu.Lock()
	defer mu.Unlock()
	minute, day := window{who, 60, now / 60}, window{who, 86400, now / 86400}
	admitted = used[minute] < p.perMinute && used[day] < p.perDay
	if admitted {
		used[minute]++
		used[day]++
	}
	if p.perDay-used[day] < p.perMinute-used[minute] {
		return admitted, p.perDay, p.perDay - used[day], (day.index + 1) * day.seconds
	}
	return admitted, p.perMinute, p.perMinute - used[minute], (minute.index + 1) * minute.seconds
}

// guard applies the limits first, so that every response has their headers, and then asks for a key.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		p, valid := keys[who]
		if valid = valid && who != r.Header.Get("Authorization"); !valid {
			who, _, _ = net.SplitHostPort(r.RemoteAddr)
			p = plan{1000, 100_000}
		}
		now := time.Now().Unix()
		admitted, limit, remaining, reset := admit(who, p, now)
		w.Header().Set("X-RateLimit-Limit", fmt.Sprint(limit))
		w.Header().Set("X-RateLimit-Remaining", fmt.Sprint(remaining))
		w.Header().Set("X-RateLimit-Reset", fmt.Sprint(reset))
		if !admitted {
			w.Header().Set("Retry-After", fmt.Sprint(reset-now))
			writeError(w, http.StatusTooManyRequests, "Too many requests.")
		} else if !valid {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, "The API key is missing or invalid.")
		} else {
			next.ServeHTTP(w, r)
		}
	})
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pets", listPets)
	mux.HandleFunc("POST /v1/pets", createPet)
	mux.HandleFunc("GET /v1/pets/{petId}", getPet)
	mux.HandleFunc("GET /v1/store/orders", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, 200, []Pet{}) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	panic(http.Serve(listener, guard(mux)))
}
