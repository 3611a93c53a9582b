// Go's net/http and encoding/json with keys and limits, animals in memory: see ../contract.mjs for the PEER_ variables.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const basePath = "/v1"
const perMinuteWithoutKey = 60

type pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

// newPet is the body of a create. A missing name or category is nil.
type newPet struct {
	Name       *string `json:"name"`
	CategoryID *int64  `json:"categoryId"`
	Status     string  `json:"status"`
}

type apiError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

type keyLimits struct {
	Key       string `json:"key"`
	PerMinute int64  `json:"perMinute"`
	PerDay    int64  `json:"perDay"`
}

type window struct {
	limit, remaining, reset int64
}

// windows counts requests by key or client address in windows that start by the clock.
type windows struct {
	mutex  sync.Mutex
	length int64
	start  int64
	used   map[string]int64
}

func (w *windows) count(name string, limit int64, now int64) window {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if now-w.start >= w.length {
		w.start = now - now%w.length
		w.used = map[string]int64{}
	}
	count := min(limit, w.used[name]) + 1
	w.used[name] = count
	return window{limit, limit - count, w.start + w.length}
}

var (
	petsMutex sync.RWMutex
	pets      []pet
	limits    = map[string]keyLimits{}
	minute    = &windows{length: 60}
	day       = &windows{length: 86_400}
)

func main() {
	var keys []keyLimits
	if err := json.Unmarshal([]byte(os.Getenv("PEER_KEYS")), &keys); err != nil {
		fmt.Fprintln(os.Stderr, "PEER_KEYS:", err)
		os.Exit(1)
	}
	for _, key := range keys {
		limits[key.Key] = key
	}
	text, err := os.ReadFile(os.Getenv("PEER_PETS"))
	if err == nil {
		err = json.Unmarshal(text, &pets)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "PEER_PETS:", err)
		os.Exit(1)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+basePath+"/pets", list)
	mux.HandleFunc("POST "+basePath+"/pets", create)
	mux.HandleFunc("GET "+basePath+"/pets/{petId}", get)
	mux.HandleFunc("GET "+basePath+"/store/orders", func(w http.ResponseWriter, _ *http.Request) {
		send(w, 200, []pet{})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		send(w, 404, apiError{"not_found", "There is no such path.", 404})
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go reportUsage()
	go func() {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		<-stop
		os.Exit(0)
	}()
	fmt.Printf("listening on http://%s%s\n", listener.Addr(), basePath)
	fmt.Fprintln(os.Stderr, http.Serve(listener, admit(mux)))
	os.Exit(1)
}

// admit checks the key and counts the request before it is handled.
func admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().Unix()
		key, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		numbers, valid := limits[key]
		name := key
		if !found || !valid {
			valid = false
			numbers = keyLimits{PerMinute: perMinuteWithoutKey, PerDay: 1 << 62}
			if name = r.Header.Get("X-Forwarded-For"); name == "" {
				name, _, _ = net.SplitHostPort(r.RemoteAddr)
			}
		}
		shown := minute.count(name, numbers.PerMinute, now)
		if ofDay := day.count(name, numbers.PerDay, now); ofDay.remaining < shown.remaining {
			shown = ofDay
		}
		header := w.Header()
		header.Set("X-RateLimit-Limit", strconv.FormatInt(shown.limit, 10))
		header.Set("X-RateLimit-Remaining", strconv.FormatInt(max(0, shown.remaining), 10))
		header.Set("X-RateLimit-Reset", strconv.FormatInt(shown.reset, 10))
		header.Set("Cache-Control", "no-store")
		header.Set("X-Request-Id", requestID())
		switch {
		case shown.remaining < 0:
			header.Set("Retry-After", strconv.FormatInt(max(1, shown.reset-now), 10))
			send(w, 429, apiError{"rate_limited", "Too many requests.", 429})
		case !valid:
			send(w, 401, apiError{"invalid_api_key", "The API key is missing or not valid.", 401})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, after := int64(20), int64(0)
	var err error
	if query.Has("limit") {
		limit, err = strconv.ParseInt(query.Get("limit"), 10, 64)
	}
	if err == nil && query.Has("after") {
		after, err = strconv.ParseInt(query.Get("after"), 10, 64)
	}
	status := query.Get("status")
	if err != nil || limit < 1 || limit > 100 || query.Has("status") && !isStatus(status) {
		send(w, 400, apiError{"invalid_parameter", "limit, after or status is not valid.", 400})
		return
	}
	page := make([]pet, 0, limit)
	more := false
	petsMutex.RLock()
	for i := max(0, after); i < int64(len(pets)); i++ {
		if status != "" && pets[i].Status != status {
			continue
		}
		if int64(len(page)) == limit {
			more = true
			break
		}
		page = append(page, pets[i])
	}
	petsMutex.RUnlock()
	if more {
		filter := ""
		if status != "" {
			filter = "&status=" + status
		}
		w.Header().Set("Link", fmt.Sprintf(`<%s/pets?limit=%d%s&after=%d>; rel="next"`, basePath, limit, filter, page[limit-1].ID))
	}
	send(w, 200, page)
}

func isStatus(text string) bool {
	return text == "available" || text == "pending" || text == "sold"
}

func create(w http.ResponseWriter, r *http.Request) {
	body := newPet{Status: "available"}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		send(w, 400, apiError{"invalid_body", err.Error(), 400})
		return
	}
	if body.Name == nil || body.CategoryID == nil || !isStatus(body.Status) {
		send(w, 400, apiError{"invalid_body", "name, categoryId or status is missing or not valid.", 400})
		return
	}
	petsMutex.Lock()
	created := pet{int64(len(pets) + 1), *body.Name, *body.CategoryID, body.Status}
	pets = append(pets, created)
	petsMutex.Unlock()
	w.Header().Set("Location", fmt.Sprintf("%s/pets/%d", basePath, created.ID))
	send(w, 201, created)
}

func get(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Deprecation", "@1764892800")
	header.Set("Sunset", "Thu, 05 Dec 2030 00:00:00 GMT")
	header.Set("Link", `</v1/pets>; rel="successor-version"`)
	id, err := strconv.ParseInt(r.PathValue("petId"), 10, 64)
	petsMutex.RLock()
	defer petsMutex.RUnlock()
	if err != nil || id < 1 || id > int64(len(pets)) {
		send(w, 404, apiError{"pet_not_found", "There is no such animal.", 404})
		return
	}
	send(w, 200, pets[id-1])
}

func send(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	w.Write(text)
}

func requestID() string {
	var id [16]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// reportUsage prints, for each line on stdin, the resources that the process has used: see ../../measure/probe.mjs.
func reportUsage() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var used syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &used)
		micros := func(t syscall.Timeval) int64 { return int64(t.Sec)*1_000_000 + int64(t.Usec) }
		fmt.Printf("usage {\"user\":%d,\"system\":%d,\"resident\":%d}\n", micros(used.Utime), micros(used.Stime), resident())
	}
	os.Exit(0)
}

// resident returns the resident memory in bytes; 0 where the system has no /proc.
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}
