package keystile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// problem is the body of a refusal (RFC 9457).
type problem struct {
	Type   string      `json:"type"`
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Detail string      `json:"detail"`
	Code   VerdictCode `json:"code"`
	// RequestID finds the verification in the log of the service.
	RequestID string `json:"requestId,omitempty"`
	// Retryable: the same request can pass later. Clients that repeat every 429 should read it.
	Retryable bool `json:"retryable"`
}

// maxShownPolicies is how many limits RateLimit-Policy names. Gateways have 4 to 8 KiB for all headers.
const maxShownPolicies = 8

// detailOfCode speaks to the sender of the key. It says nothing about the service behind.
var detailOfCode = map[VerdictCode]string{
	CodeNotFound:                "The API key is missing or unknown. Send it in the header Authorization, after the word Bearer.",
	CodeDisabled:                "The API key is disabled.",
	CodeExpired:                 "The API key has expired.",
	CodeForbidden:               "The API key may not be used here.",
	CodeInsufficientPermissions: "The API key lacks a permission that this request needs.",
	CodeRateLimited:             "The rate limit of the API key is used up. Try again later.",
	CodeUsageExceeded:           "The API key does not have enough credits left.",
	CodeUnavailable:             "The API key cannot be verified now. Try again later.",
	CodeUnknown:                 "The API key was refused.",
}

func writeRefusal(w http.ResponseWriter, verdict Verdict) {
	status := verdict.Status()
	header := w.Header()
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	if status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	pause := pauseOf(verdict)
	if pause > 0 {
		header.Set("Retry-After", strconv.FormatInt(wholeSecondsOf(pause), 10))
	}
	header.Set("Keystile-Retryable", strconv.FormatBool(pause > 0))
	body, err := json.Marshal(problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detailOfCode[verdict.Code], Code: verdict.Code,
		RequestID: requestIDOf(verdict), Retryable: pause > 0,
	})
	if err != nil {
		panic("keystile: a problem of plain texts cannot be written: " + err.Error())
	}
	w.WriteHeader(status)
	// The sender may have gone. There is nobody to tell.
	_, _ = w.Write(append(body, '\n'))
}

func requestIDOf(verdict Verdict) string {
	if verdict.Cause != nil {
		return verdict.Cause.RequestID
	}
	return verdict.RequestID
}

// setRateLimit tells the sender what each limit grants, first the one that refused, and how much of that one is left.
func setRateLimit(header http.Header, verdict Verdict) {
	limit := shownLimit(verdict)
	if limit == nil {
		return
	}
	policies := []string{policyOf(limit)}
	for index := range verdict.Ratelimits {
		if other := &verdict.Ratelimits[index]; other != limit && len(policies) < maxShownPolicies {
			policies = append(policies, policyOf(other))
		}
	}
	header.Set("RateLimit-Policy", strings.Join(policies, ", "))
	header.Set("RateLimit", fmt.Sprintf("%s;r=%d;t=%d", quoted(limit.Name), max(0, limit.Remaining), wholeSecondsOf(verdict.until(limit.Reset))))
}

// policyOf has no window when the service is older than this client and does not say it.
func policyOf(limit *RatelimitState) string {
	policy := fmt.Sprintf("%s;q=%d", quoted(limit.Name), limit.Limit)
	if limit.Duration == 0 {
		return policy
	}
	return fmt.Sprintf("%s;w=%d", policy, wholeSecondsOf(time.Duration(limit.Duration)*time.Millisecond))
}

// shownLimit is the limit that refused, the one that ends last if there are several, else the first.
func shownLimit(verdict Verdict) *RatelimitState {
	var shown *RatelimitState
	for index := range verdict.Ratelimits {
		limit := &verdict.Ratelimits[index]
		if limit.Exceeded && (shown == nil || !shown.Exceeded || limit.Reset.After(shown.Reset.Time)) || shown == nil {
			shown = limit
		}
	}
	return shown
}

// pauseOf is how long the sender should wait, or 0 when waiting is not known to help.
func pauseOf(verdict Verdict) time.Duration {
	// Less than a second is still a second: 0 would mean at once.
	if verdict.Cause != nil {
		return max(time.Second, verdict.Cause.RetryAfter)
	}
	if verdict.Code == CodeRateLimited {
		if limit := shownLimit(verdict); limit != nil {
			return max(time.Second, verdict.until(limit.Reset))
		}
		return time.Second
	}
	if verdict.NextRefillAt.IsZero() {
		return 0
	}
	return max(time.Second, verdict.until(verdict.NextRefillAt))
}

// until counts from when the service decided, by its own clock.
func (v Verdict) until(end Time) time.Duration {
	return min(max(0, end.Sub(v.at)), maxRetryAfter)
}

func wholeSecondsOf(duration time.Duration) int64 {
	return int64((duration + time.Second - 1) / time.Second)
}

// quoted is a string of a structured header, which is ASCII only: other characters are replaced.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, character := range text {
		switch {
		case character < 0x20 || character > 0x7e:
			out.WriteByte('?')
		case character == '"' || character == '\\':
			out.WriteByte('\\')
			out.WriteRune(character)
		default:
			out.WriteRune(character)
		}
	}
	out.WriteByte('"')
	return out.String()
}
