package keystile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what a header can ask for.
const maxRetryAfter = 366 * 24 * time.Hour

type errorBody struct {
	Error *struct {
		Code      *string         `json:"code"`
		Message   *string         `json:"message"`
		RequestID string          `json:"requestId"`
		Docs      string          `json:"docs"`
		Issues    json.RawMessage `json:"issues"`
	} `json:"error"`
}

// errorOfBody is the error that a body of the service describes, or nil when it describes none.
func errorOfBody(body []byte, response *http.Response, secrets []string) *Error {
	var read errorBody
	if json.Unmarshal(body, &read) != nil || read.Error == nil || read.Error.Code == nil || read.Error.Message == nil {
		return nil
	}
	code, message := ErrorCode(*read.Error.Code), *read.Error.Message
	if !serviceCodes[code] {
		message = string(code) + ": " + message
		code = ErrorUnknown
	}
	var issues []Issue
	// Issues of another shape are left out: they only explain.
	if json.Unmarshal(read.Error.Issues, &issues) != nil {
		issues = nil
	}
	for index := range issues {
		issues[index].Path = without(secrets, issues[index].Path)
		issues[index].Message = without(secrets, issues[index].Message)
	}
	status := response.StatusCode
	return &Error{
		Code: code, Message: without(secrets, message), Status: status, RequestID: without(secrets, read.Error.RequestID),
		Docs: without(secrets, read.Error.Docs), Issues: issues, RetryAfter: retryAfter(response.Header),
		// The service answers a status below 500 before it does anything.
		IsCertainlyNotDone: code == ErrorUnavailable || (status >= 400 && status < 500),
	}
}

// without hides secrets in a text of the other side. A short text is no secret, and hiding it would spoil the message.
func without(secrets []string, text string) string {
	for _, secret := range secrets {
		if len(secret) >= 8 {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// badResponse is the error of an answer that is not one of Keystile.
func badResponse(url string, status int) *Error {
	isRedirect := status >= 300 && status < 400
	what := fmt.Sprintf("status %d and a body that is not JSON of Keystile", status)
	if isRedirect {
		what = "a redirect"
	}
	return &Error{
		Code: ErrorBadResponse, Status: status, IsCertainlyNotDone: isRedirect || status == http.StatusNotFound,
		Message: shown(url) + " answered with " + what + ". Check that the url is the address of Keystile itself, without a path.",
	}
}

// notUnderstood is the error of JSON that is not what the path answers.
func notUnderstood(path string) *Error {
	return &Error{
		Code: ErrorBadResponse, Status: http.StatusOK,
		Message: "The answer of " + path + " is not one of Keystile. Check that the url is the address of Keystile itself, without a path.",
	}
}

var wholeSeconds = regexp.MustCompile(`^[0-9]+$`)

// retryAfter reads seconds or a date. The date is compared to the server's own, so that the clock of this machine does
// not matter.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if wholeSeconds.MatchString(value) {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(0, until.Sub(from)), maxRetryAfter)
}
