package keystile

import (
	"encoding/json"
	"net/http"
	"time"
)

// VerdictCode says why a key passes or not.
type VerdictCode string

// The codes of verdicts. docs/keys.md lists the checks in their order.
const (
	CodeValid                   VerdictCode = "VALID"
	CodeNotFound                VerdictCode = "NOT_FOUND"
	CodeForbidden               VerdictCode = "FORBIDDEN"
	CodeDisabled                VerdictCode = "DISABLED"
	CodeExpired                 VerdictCode = "EXPIRED"
	CodeInsufficientPermissions VerdictCode = "INSUFFICIENT_PERMISSIONS"
	CodeRateLimited             VerdictCode = "RATE_LIMITED"
	CodeUsageExceeded           VerdictCode = "USAGE_EXCEEDED"
	// CodeUnavailable: there was no verdict. Cause says why, and OnUnavailable decided.
	CodeUnavailable VerdictCode = "UNAVAILABLE"
	// CodeUnknown: the service refused with a code that is newer than this client. ReceivedCode has it.
	CodeUnknown VerdictCode = "UNKNOWN"
)

// statusOfCode has every code of the service and of this client.
var statusOfCode = map[VerdictCode]int{
	CodeValid:                   http.StatusOK,
	CodeNotFound:                http.StatusUnauthorized,
	CodeDisabled:                http.StatusUnauthorized,
	CodeExpired:                 http.StatusUnauthorized,
	CodeForbidden:               http.StatusForbidden,
	CodeInsufficientPermissions: http.StatusForbidden,
	CodeUnknown:                 http.StatusForbidden,
	CodeRateLimited:             http.StatusTooManyRequests,
	CodeUsageExceeded:           http.StatusTooManyRequests,
	CodeUnavailable:             http.StatusServiceUnavailable,
}

// Verdict is the answer to a verification. The zero value refuses.
type Verdict struct {
	// Valid: the request may pass.
	Valid bool        `json:"valid"`
	Code  VerdictCode `json:"code"`
	// ReceivedCode is the code of the service when Code is UNKNOWN.
	ReceivedCode string `json:"receivedCode,omitempty"`
	// Cause is why there is no verdict when Code is UNAVAILABLE.
	Cause *Error `json:"-"`
	// RequestID finds the verification in the log of the service.
	RequestID string         `json:"requestId"`
	KeyID     string         `json:"keyId,omitempty"`
	Name      string         `json:"name,omitempty"`
	OwnerID   string         `json:"ownerId,omitempty"`
	Meta      map[string]any `json:"meta"`
	// Expires is zero for a key that does not expire.
	Expires     Time         `json:"expires"`
	Enabled     bool         `json:"enabled"`
	Environment string       `json:"environment,omitempty"`
	Permissions []string     `json:"permissions"`
	Roles       []string     `json:"roles"`
	Identity    *IdentityRef `json:"identity,omitempty"`
	// Remaining is what is left of the credits, or nil for a key without credits.
	Remaining *int64 `json:"remaining,omitempty"`
	// NextRefillAt is when the credits that did not suffice are refilled next. Zero: another code, or they have no refill.
	NextRefillAt Time             `json:"nextRefillAt"`
	Ratelimits   []RatelimitState `json:"ratelimits,omitempty"`

	// at is when the service decided, by its own clock.
	at time.Time
}

// RatelimitState is what a verdict says about a rate limit.
type RatelimitState struct {
	Name  string `json:"name"`
	Limit int64  `json:"limit"`
	// Duration is the window in milliseconds, or 0 when the service is older than this client.
	Duration  int64 `json:"duration"`
	Remaining int64 `json:"remaining"`
	// Reset is when the window ends.
	Reset Time `json:"reset"`
	Async bool `json:"async"`
	// Exceeded: this limit refused the request.
	Exceeded bool `json:"exceeded"`
}

// Status is the HTTP status for the code: 200 for a request that may pass, else 401, 403, 429 or 503.
func (v Verdict) Status() int {
	if v.Valid {
		return http.StatusOK
	}
	if status, isKnown := statusOfCode[v.Code]; isKnown && v.Code != CodeValid {
		return status
	}
	return http.StatusForbidden
}

// verdictOf is the verdict that an answer contains, or false when it contains none.
func verdictOf(got answer) (Verdict, bool) {
	var needed struct {
		Valid *bool        `json:"valid"`
		Code  *VerdictCode `json:"code"`
	}
	if json.Unmarshal(got.body, &needed) != nil || needed.Valid == nil || needed.Code == nil {
		return Verdict{}, false
	}
	verdict := Verdict{at: got.at}
	if json.Unmarshal(got.body, &verdict) != nil {
		return Verdict{}, false
	}
	verdict.ReceivedCode = ""
	if isServiceCode(verdict.Code) && verdict.Valid == (verdict.Code == CodeValid) {
		return verdict, true
	}
	verdict.Valid, verdict.ReceivedCode, verdict.Code = false, string(verdict.Code), CodeUnknown
	return verdict, true
}

func isServiceCode(code VerdictCode) bool {
	_, isKnown := statusOfCode[code]
	return isKnown && code != CodeUnavailable && code != CodeUnknown
}
