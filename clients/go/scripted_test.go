package keystile_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

const (
	testKey     = "demo_secret_of_a_customer_0001"
	testRootKey = "root_secret_of_the_operator_0001"
	// longEnough is for tests that await an answer, also on a busy machine.
	longEnough = time.Minute
	validBody  = `{"valid":true,"code":"VALID","requestId":"req_1","keyId":"key_1","meta":{}}`
)

// scripted answers each request with the next handler, and the last one again and again.
type scripted struct {
	*httptest.Server
	mutex    sync.Mutex
	handlers []http.HandlerFunc
	bodies   []string
	headers  []http.Header
}

func script(t *testing.T, handlers ...http.HandlerFunc) *scripted {
	t.Helper()
	s := &scripted{handlers: handlers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mutex.Lock()
	handler := s.handlers[min(len(s.bodies), len(s.handlers)-1)]
	s.bodies = append(s.bodies, string(body))
	s.headers = append(s.headers, r.Header)
	s.mutex.Unlock()
	handler(w, r)
}

func (s *scripted) seen() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string(nil), s.bodies...)
}

// answers writes a status, a body, and headers as pairs.
func answers(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for index := 0; index+1 < len(headers); index += 2 {
			w.Header().Set(headers[index], headers[index+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangsUp ends the connection without an answer.
func hangsUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cutsOff promises more than it sends.
func cutsOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "500")
	_, _ = io.WriteString(w, validBody)
	panic(http.ErrAbortHandler)
}

// hangs returns when the client has given up. A server notices that only after it has read the body.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func failure(code string) string {
	return `{"error":{"code":"` + code + `","message":"Words of the service.","docs":"/docs/errors#` + code + `","requestId":"req_9"}}`
}

func clientOf(t *testing.T, url string, change ...func(*keystile.Options)) *keystile.Client {
	t.Helper()
	options := keystile.Options{URL: url, RootKey: testRootKey, Timeout: longEnough, TotalTimeout: longEnough}
	for _, each := range change {
		each(&options)
	}
	return newClient(t, options)
}

// closedAddress is a url where nothing listens.
func closedAddress() string {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	return server.URL
}
