package keystile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

// greeting is a handler that shows the verdict it was given.
var greeting = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	verdict := keystile.VerdictFrom(r.Context())
	fmt.Fprintf(w, "hello %s %s", verdict.KeyID, verdict.Code)
})

// visit sends one request with headers as pairs through a handler.
func visit(handler http.Handler, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	for index := 0; index+1 < len(headers); index += 2 {
		request.Header.Set(headers[index], headers[index+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	for code, status := range map[string]int{
		"NOT_FOUND": 401, "DISABLED": 401, "EXPIRED": 401, "FORBIDDEN": 403, "INSUFFICIENT_PERMISSIONS": 403,
		"RATE_LIMITED": 429, "USAGE_EXCEEDED": 429, "NEWER_CODE": 403, "UNKNOWN": 403, "UNAVAILABLE": 403, "": 403,
	} {
		t.Run("code "+code, func(t *testing.T) {
			server := script(t, answers(200, `{"valid":false,"code":"`+code+`","requestId":"req_1","meta":{}}`))
			got := visit(clientOf(t, server.URL).Protect(greeting, keystile.Route{}), "Authorization", "Bearer "+testKey)
			if got.Code != status || got.Header().Get("Content-Type") != "application/problem+json" {
				t.Fatalf("got %d %v", got.Code, got.Header())
			}
			if want := map[bool]string{true: "Bearer"}[status == 401]; got.Header().Get("WWW-Authenticate") != want {
				t.Errorf("got %v", got.Header())
			}
			var problem struct {
				Type, Title, Detail, Code string
				Status                    int
			}
			if err := json.Unmarshal(got.Body.Bytes(), &problem); err != nil || problem.Status != status || problem.Type != "about:blank" ||
				problem.Title != http.StatusText(status) || problem.Detail == "" || problem.Code == "" {
				t.Errorf("got %s, %v", got.Body, err)
			}
		})
	}
}

func TestCodeNewerThanTheClientIsARefusal(t *testing.T) {
	for _, body := range []string{`{"valid":false,"code":"NEWER"}`, `{"valid":true,"code":"NEWER"}`} {
		verdict := verify(t, clientOf(t, script(t, answers(200, body)).URL), keystile.VerifyOptions{})
		if verdict.Valid || verdict.Code != keystile.CodeUnknown || verdict.ReceivedCode != "NEWER" || verdict.Status() != 403 {
			t.Errorf("%s: got %+v", body, verdict)
		}
	}
	verdict := verify(t, clientOf(t, script(t, answers(200, `{"valid":true,"code":"EXPIRED"}`)).URL), keystile.VerifyOptions{})
	if verdict.Valid || verdict.Code != keystile.CodeUnknown {
		t.Errorf("got %+v", verdict)
	}
}

func TestZeroVerdictRefuses(t *testing.T) {
	if verdict := keystile.VerdictFrom(context.Background()); verdict.Valid || verdict.Status() != 403 {
		t.Fatalf("got %+v", verdict)
	}
}

func TestKeyIsTakenFromTheRequest(t *testing.T) {
	fromQuery := func(r *http.Request) string { return "from_function" }
	for _, each := range []struct {
		headers []string
		key     func(*http.Request) string
		want    string
	}{
		{[]string{"Authorization", "Bearer one"}, nil, "one"},
		{[]string{"Authorization", "bearer  one "}, nil, "one"},
		{[]string{"X-API-Key", "two"}, nil, "two"},
		{[]string{"Authorization", "Bearer one", "X-API-Key", "two"}, nil, "one"},
		{[]string{"Authorization", "Basic dTpw", "X-API-Key", "two"}, nil, "two"},
		{[]string{"Authorization", "Bearer one"}, fromQuery, "from_function"},
		{[]string{"Authorization", "Basic dTpw"}, nil, ""},
		{[]string{"Authorization", "Bearer"}, nil, ""},
		{nil, nil, ""},
	} {
		server := script(t, answers(200, validBody))
		got := visit(clientOf(t, server.URL).Protect(greeting, keystile.Route{Key: each.key}), each.headers...)
		var body struct{ Key, ClientIP string }
		for _, text := range server.seen() {
			if err := json.Unmarshal([]byte(text), &body); err != nil {
				t.Fatal(err)
			}
		}
		wantStatus := map[bool]int{true: 401, false: 200}[each.want == ""]
		if body.Key != each.want || got.Code != wantStatus {
			t.Errorf("%v: asked about %q, answered %d", each.headers, body.Key, got.Code)
		}
		// httptest sends from this address.
		if each.want != "" && body.ClientIP != "192.0.2.1" {
			t.Errorf("got the address %q", body.ClientIP)
		}
	}
}

func TestRouteIsSentWithEveryVerification(t *testing.T) {
	server := script(t, answers(200, validBody))
	route := keystile.Route{
		APIID: "api_1", Cost: keystile.Int(0), Tags: []string{"a"},
		Permissions: keystile.And(keystile.Permission("x"), keystile.Or(keystile.Permission("y"), nil)),
		Ratelimits:  []keystile.RequestedLimit{{Name: "n", Limit: 2, Duration: time.Minute, Cost: keystile.Int(0)}},
		ClientIP:    func(*http.Request) string { return "198.51.100.7" },
	}
	visit(clientOf(t, server.URL).Protect(greeting, route), "X-API-Key", testKey)
	want := `{"key":"` + testKey + `","apiId":"api_1","remaining":{"cost":0},"authorization":{"permissions":{"and":["x",{"or":["y",""]}]}},` +
		`"tags":["a"],"ratelimits":[{"name":"n","cost":0,"limit":2,"duration":60000}],"clientIp":"198.51.100.7"}`
	if got := server.seen()[0]; got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func TestLimitHeadersUseTheClockOfTheService(t *testing.T) {
	now := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	limit := func(name string, seconds int, exceeded bool) string {
		return fmt.Sprintf(`{"name":%q,"limit":5,"remaining":3,"reset":%d,"async":true,"exceeded":%t}`,
			name, now.Add(time.Duration(seconds)*time.Second).UnixMilli(), exceeded)
	}
	for _, each := range []struct{ code, limits, rateLimit, retryAfter string }{
		{"VALID", limit("first", 30, false) + "," + limit("second", 60, false), `"first";r=3;t=30`, ""},
		{"RATE_LIMITED", limit("first", 30, false) + "," + limit("second", 60, true), `"second";r=3;t=60`, "60"},
		{"RATE_LIMITED", limit("first", 90, true) + "," + limit("second", 60, true), `"first";r=3;t=90`, "90"},
		{"RATE_LIMITED", limit("past", -5, true), `"past";r=3;t=0`, "1"},
		{"USAGE_EXCEEDED", limit("first", 30, false), `"first";r=3;t=30`, ""},
		{"VALID", limit(`ü"\`, 30, false), `"?\"\\";r=3;t=30`, ""},
		{"RATE_LIMITED", "", "", "1"},
	} {
		body := fmt.Sprintf(`{"valid":%t,"code":%q,"requestId":"req_1","ratelimits":[%s]}`, each.code == "VALID", each.code, each.limits)
		server := script(t, answers(200, body, "Date", now.Format(http.TimeFormat)))
		got := visit(clientOf(t, server.URL).Protect(greeting, keystile.Route{}), "X-API-Key", testKey).Header()
		if got.Get("RateLimit") != each.rateLimit || got.Get("Retry-After") != each.retryAfter {
			t.Errorf("%s: got %v", body, got)
		}
		name, _, isLimited := strings.Cut(each.rateLimit, ";r=")
		if policy := got.Get("RateLimit-Policy"); isLimited && !strings.HasPrefix(policy, name+";q=5") || !isLimited && policy != "" {
			t.Errorf("%s: got the policy %q", body, policy)
		}
	}
}

func TestUnavailableServiceIsA503UnlessThePolicyAllows(t *testing.T) {
	server := script(t, answers(503, failure("UNAVAILABLE"), "Retry-After", "9"))
	refusing := visit(clientOf(t, server.URL).Protect(greeting, keystile.Route{}), "X-API-Key", testKey)
	if refusing.Code != 503 || refusing.Header().Get("Retry-After") != "9" {
		t.Errorf("got %d %v", refusing.Code, refusing.Header())
	}
	allowing := clientOf(t, server.URL, func(o *keystile.Options) { o.OnUnavailable = keystile.Allow })
	if got := visit(allowing.Protect(greeting, keystile.Route{}), "X-API-Key", testKey); got.Code != 200 || got.Body.String() != "hello  UNAVAILABLE" {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

func TestSenderThatLeavesDoesNotReachTheHandler(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	leaves := func(_ http.ResponseWriter, _ *http.Request) { cancel(); hangsUp(nil, nil) }
	client := clientOf(t, script(t, leaves).URL, func(o *keystile.Options) { o.OnUnavailable = keystile.Allow })
	request := httptest.NewRequest(http.MethodPost, "/", nil).WithContext(ctx)
	request.Header.Set("X-API-Key", testKey)
	client.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") }), keystile.Route{}).
		ServeHTTP(httptest.NewRecorder(), request)
}

func TestVerdictIsReported(t *testing.T) {
	var events []keystile.VerdictEvent
	client := clientOf(t, script(t, answers(200, validBody)).URL, func(o *keystile.Options) {
		o.OnVerdict = func(_ context.Context, event keystile.VerdictEvent) { events = append(events, event) }
	})
	verify(t, client, keystile.VerifyOptions{Tags: []string{"a"}})
	client.Verify(context.Background(), "", keystile.VerifyOptions{})
	if len(events) != 2 || !events[0].Verdict.Valid || events[0].Asked.Tags[0] != "a" || events[0].Duration <= 0 || events[1].Verdict.Code != keystile.CodeNotFound {
		t.Fatalf("got %+v", events)
	}
}

func TestTextThatIsNoKeyIsNotSent(t *testing.T) {
	server := script(t, answers(200, validBody))
	client := clientOf(t, server.URL)
	for _, text := range []string{"", "a\nb", "schlüssel", "\x7f", string(make([]byte, 513))} {
		if verdict := client.Verify(context.Background(), text, keystile.VerifyOptions{}); verdict.Valid || verdict.Code != keystile.CodeNotFound {
			t.Errorf("%q: got %+v", text, verdict)
		}
	}
	if len(server.seen()) != 0 {
		t.Fatal("a text that is no key was sent")
	}
}
