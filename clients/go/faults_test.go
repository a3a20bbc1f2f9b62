package keystile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

// fault is a bad answer, and what the client makes of it.
type fault struct {
	name      string
	url       func(t *testing.T) string
	code      keystile.ErrorCode
	status    int
	isNotDone bool
	// asksPolicy: OnUnavailable is asked.
	asksPolicy bool
	// says is a part of the message.
	says string
}

func scriptURL(handler http.HandlerFunc) func(t *testing.T) string {
	return func(t *testing.T) string { return script(t, handler).URL }
}

func quietTLS(t *testing.T) string {
	server := httptest.NewUnstartedServer(answers(200, validBody))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

var faults = []fault{
	{"nothing listens", func(*testing.T) string { return closedAddress() }, "UNREACHABLE", 0, true, true, "service is running"},
	{"unknown host", func(*testing.T) string { return "http://keystile.invalid" }, "UNREACHABLE", 0, true, true, "Check the url"},
	{"certificate that nobody signed", quietTLS, "TLS", 0, true, true, "certificate"},
	{"https to a service without TLS", func(t *testing.T) string {
		return strings.Replace(script(t, answers(200, validBody)).URL, "http:", "https:", 1)
	}, "TLS", 0, true, true, "http:// or https://"},
	{"http to a service with TLS", func(t *testing.T) string { return strings.Replace(quietTLS(t), "https:", "http:", 1) },
		"BAD_RESPONSE", 400, false, false, "address of Keystile"},
	{"no answer in time", scriptURL(hangs), "TIMEOUT", 0, false, true, "within 2s"},
	{"connection ended", scriptURL(hangsUp), "CONNECTION_LOST", 0, false, true, "may have been carried out"},
	{"truncated answer", scriptURL(cutsOff), "CONNECTION_LOST", 0, false, true, "may have been carried out"},
	{"truncated JSON", scriptURL(answers(200, validBody[:30])), "BAD_RESPONSE", 200, false, true, "not JSON of Keystile"},
	{"web page", scriptURL(answers(200, "<html>hello</html>")), "BAD_RESPONSE", 200, false, true, "not JSON of Keystile"},
	{"JSON without a verdict", scriptURL(answers(200, `{"hello":1}`)), "BAD_RESPONSE", 200, false, true, "not one of Keystile"},
	{"verdict with a wrong type", scriptURL(answers(200, `{"valid":true,"code":"VALID","remaining":"x"}`)), "BAD_RESPONSE", 200, false, true, "not one"},
	{"a list", scriptURL(answers(200, `[]`)), "BAD_RESPONSE", 200, false, true, "not one of Keystile"},
	{"empty answer", scriptURL(answers(204, "")), "BAD_RESPONSE", 204, false, true, "status 204"},
	{"redirect", scriptURL(answers(302, "", "Location", "http://127.0.0.1:1/")), "BAD_RESPONSE", 302, true, true, "redirect"},
	{"page of a gateway, 404", scriptURL(answers(404, "not here")), "BAD_RESPONSE", 404, true, false, "status 404"},
	{"page of a gateway, 413", scriptURL(answers(413, "<html>")), "BAD_RESPONSE", 413, false, false, "status 413"},
	{"page of a gateway, 502", scriptURL(answers(502, "<html>")), "BAD_RESPONSE", 502, false, true, "status 502"},
	{"page of a gateway, 504", scriptURL(answers(504, "<html>")), "BAD_RESPONSE", 504, false, true, "status 504"},
	{"bad request", scriptURL(answers(400, failure("BAD_REQUEST"))), "BAD_REQUEST", 400, true, false, "Words of the service."},
	{"root key refused", scriptURL(answers(401, failure("UNAUTHORIZED"))), "UNAUTHORIZED", 401, true, false, "Words"},
	{"413", scriptURL(answers(413, failure("PAYLOAD_TOO_LARGE"))), "PAYLOAD_TOO_LARGE", 413, true, false, "Words"},
	{"429", scriptURL(answers(429, failure("RATE_LIMITED"), "Retry-After", "7")), "RATE_LIMITED", 429, true, false, "Words"},
	{"500", scriptURL(answers(500, failure("INTERNAL_SERVER_ERROR"))), "INTERNAL_SERVER_ERROR", 500, false, true, "Words"},
	{"503", scriptURL(answers(503, failure("UNAVAILABLE"), "Retry-After", "7")), "UNAVAILABLE", 503, true, true, "Words"},
	{"outcome unknown", scriptURL(answers(503, failure("OUTCOME_UNKNOWN"))), "OUTCOME_UNKNOWN", 503, false, true, "Words"},
	{"error code of a newer service", scriptURL(answers(418, failure("TEAPOT"))), "UNKNOWN", 418, true, false, "TEAPOT: Words"},
}

func TestEveryFaultIsATypedErrorThatSaysWhatToDo(t *testing.T) {
	for _, each := range faults {
		t.Run(each.name, func(t *testing.T) {
			t.Parallel()
			asked := false
			client := clientOf(t, each.url(t), func(o *keystile.Options) {
				o.Retries = -1
				if each.code == keystile.ErrorTimeout {
					o.Timeout = 2 * time.Second
				}
				o.OnUnavailable = func(_ context.Context, cause *keystile.Error, options keystile.VerifyOptions) bool {
					asked = true
					return cause != nil && len(options.Tags) == 1
				}
			})
			verdict := client.Verify(context.Background(), testKey, keystile.VerifyOptions{Tags: []string{"path=/a"}})
			if verdict.Code != keystile.CodeUnavailable || verdict.Cause == nil {
				t.Fatalf("got %+v", verdict)
			}
			got := verdict.Cause
			if got.Code != each.code || got.Status != each.status || got.IsCertainlyNotDone != each.isNotDone {
				t.Errorf("got %s, status %d, certainly not done %t: %v", got.Code, got.Status, got.IsCertainlyNotDone, got)
			}
			if !strings.Contains(got.Error(), each.says) {
				t.Errorf("the message does not say %q: %v", each.says, got)
			}
			if asked != each.asksPolicy || verdict.Valid != each.asksPolicy {
				t.Errorf("policy asked %t, passes %t, want %t", asked, verdict.Valid, each.asksPolicy)
			}
			for _, secret := range []string{testKey, testRootKey, "path=/a"} {
				if strings.Contains(fmt.Sprintf("%v %+v %#v", got, *got, verdict), secret) {
					t.Errorf("the message contains %q: %v", secret, got)
				}
			}
		})
	}
}

func TestErrorHasAllThatTheServiceSays(t *testing.T) {
	body := `{"error":{"code":"BAD_REQUEST","message":"m","docs":"/docs/errors#BAD_REQUEST","requestId":"req_9","issues":[{"path":"a","message":"b"}]}}`
	client := clientOf(t, script(t, answers(400, body, "Retry-After", "3")).URL)
	got := failureOf(t, client.Call(context.Background(), "/v1/x", nil, nil))
	if got.Docs != "/docs/errors#BAD_REQUEST" || got.RequestID != "req_9" || got.RetryAfter != 3*time.Second || len(got.Issues) != 1 ||
		got.Issues[0] != (keystile.Issue{Path: "a", Message: "b"}) {
		t.Fatalf("got %+v", got)
	}
}

func TestRetryAfterDateIsComparedToTheClockOfTheServer(t *testing.T) {
	now := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	handler := answers(503, failure("UNAVAILABLE"), "Date", now.Format(http.TimeFormat), "Retry-After", now.Add(90*time.Second).Format(http.TimeFormat))
	client := clientOf(t, script(t, handler).URL)
	if got := failureOf(t, client.Call(context.Background(), "/v1/x", nil, nil)); got.RetryAfter != 90*time.Second {
		t.Fatalf("got %v", got.RetryAfter)
	}
}

func TestSecretsThatTheOtherSideRepeatsAreHidden(t *testing.T) {
	body := fmt.Sprintf(`{"error":{"code":"BAD_REQUEST","message":"got %s and %s","issues":[{"path":"key","message":"%s"}]}}`, testKey, testRootKey, testKey)
	client := clientOf(t, script(t, answers(400, body)).URL)
	got := client.Verify(context.Background(), testKey, keystile.VerifyOptions{}).Cause
	if text := fmt.Sprintf("%+v", *got); strings.Contains(text, testKey) || strings.Contains(text, testRootKey) || got.Message != "got *** and ***" {
		t.Fatalf("got %s", text)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := script(t, answers(200, validBody))
	client := clientOf(t, script(t, answers(307, "", "Location", elsewhere.URL)).URL)
	client.Verify(context.Background(), testKey, keystile.VerifyOptions{})
	if len(elsewhere.seen()) != 0 {
		t.Fatal("the key was sent to another host")
	}
}

func TestCancelledCallDoesNotOpenTheDoor(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	server := script(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		hangs(w, r)
	})
	client := clientOf(t, server.URL, func(o *keystile.Options) { o.OnUnavailable = keystile.Allow })
	verdict := client.Verify(ctx, testKey, keystile.VerifyOptions{})
	if verdict.Valid || verdict.Cause.Code != keystile.ErrorAborted || !errors.Is(verdict.Cause, context.Canceled) || verdict.Cause.IsCertainlyNotDone {
		t.Fatalf("got %+v, %v", verdict, verdict.Cause)
	}
	verdict = client.Verify(ctx, testKey, keystile.VerifyOptions{})
	if verdict.Valid || verdict.Cause.Code != keystile.ErrorAborted || !verdict.Cause.IsCertainlyNotDone {
		t.Fatalf("got %+v, %v", verdict, verdict.Cause)
	}
}

func TestDeadlineOfTheContextIsATimeout(t *testing.T) {
	t.Parallel()
	client := clientOf(t, script(t, hangs).URL, func(o *keystile.Options) { o.OnUnavailable = keystile.Allow })
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	verdict := client.Verify(ctx, testKey, keystile.VerifyOptions{})
	if !verdict.Valid || verdict.Cause.Code != keystile.ErrorTimeout || !errors.Is(verdict.Cause, context.DeadlineExceeded) {
		t.Fatalf("got %+v, %v", verdict, verdict.Cause)
	}
}
