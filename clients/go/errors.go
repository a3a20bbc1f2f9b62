package keystile

import (
	"fmt"
	"time"
)

// ErrorCode says why a call gave no answer. The codes of the service stand beside those of the way to it.
type ErrorCode string

// Codes of the way to the service.
const (
	// ErrorConfiguration: the client or the call is set up wrong. Nothing was sent.
	ErrorConfiguration ErrorCode = "CONFIGURATION"
	// ErrorUnreachable: no connection to the service. Nothing was sent.
	ErrorUnreachable ErrorCode = "UNREACHABLE"
	// ErrorTLS: the TLS connection failed, for example because of a certificate.
	ErrorTLS ErrorCode = "TLS"
	// ErrorTimeout: no answer in time. The call may have been carried out.
	ErrorTimeout ErrorCode = "TIMEOUT"
	// ErrorConnectionLost: the connection ended before the answer. The call may have been carried out.
	ErrorConnectionLost ErrorCode = "CONNECTION_LOST"
	// ErrorBadResponse: the answer is not one of Keystile. Another program may listen at the url.
	ErrorBadResponse ErrorCode = "BAD_RESPONSE"
	// ErrorAborted: the context was cancelled, or had ended before the call was sent.
	ErrorAborted ErrorCode = "ABORTED"
)

// Codes that the service answers. docs/errors.md explains them.
const (
	ErrorBadRequest              ErrorCode = "BAD_REQUEST"
	ErrorUnauthorized            ErrorCode = "UNAUTHORIZED"
	ErrorInsufficientPermissions ErrorCode = "INSUFFICIENT_PERMISSIONS"
	ErrorNotFound                ErrorCode = "NOT_FOUND"
	ErrorMethodNotAllowed        ErrorCode = "METHOD_NOT_ALLOWED"
	ErrorConflict                ErrorCode = "CONFLICT"
	ErrorPreconditionFailed      ErrorCode = "PRECONDITION_FAILED"
	ErrorDeleteProtected         ErrorCode = "DELETE_PROTECTED"
	ErrorPayloadTooLarge         ErrorCode = "PAYLOAD_TOO_LARGE"
	ErrorUnsupportedMediaType    ErrorCode = "UNSUPPORTED_MEDIA_TYPE"
	ErrorRateLimited             ErrorCode = "RATE_LIMITED"
	ErrorHeadersTooLarge         ErrorCode = "HEADERS_TOO_LARGE"
	ErrorInternalServerError     ErrorCode = "INTERNAL_SERVER_ERROR"
	ErrorNotImplemented          ErrorCode = "NOT_IMPLEMENTED"
	ErrorUnavailable             ErrorCode = "UNAVAILABLE"
	ErrorOutcomeUnknown          ErrorCode = "OUTCOME_UNKNOWN"
	ErrorHTTPVersion             ErrorCode = "HTTP_VERSION_NOT_SUPPORTED"
	// ErrorUnknown: a code that is newer than this client. The message begins with it.
	ErrorUnknown ErrorCode = "UNKNOWN"
)

var serviceCodes = map[ErrorCode]bool{
	ErrorBadRequest: true, ErrorUnauthorized: true, ErrorInsufficientPermissions: true, ErrorNotFound: true,
	ErrorMethodNotAllowed: true, ErrorConflict: true, ErrorPreconditionFailed: true, ErrorDeleteProtected: true,
	ErrorPayloadTooLarge: true, ErrorUnsupportedMediaType: true, ErrorRateLimited: true, ErrorHeadersTooLarge: true,
	ErrorInternalServerError: true, ErrorNotImplemented: true, ErrorUnavailable: true, ErrorOutcomeUnknown: true,
	ErrorHTTPVersion: true,
}

// Issue is one problem of a request body: where it is, and what is wrong.
type Issue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Error is the error of every failed call. Use errors.As to get it. It contains no key, root key or request body.
type Error struct {
	Code ErrorCode
	// Message says what is wrong and what to do.
	Message string
	// Status is the HTTP status, or 0 when there was no answer.
	Status int
	// RequestID finds the call in the log of the service.
	RequestID string
	// Docs is where the service explains the code.
	Docs   string
	Issues []Issue
	// RetryAfter is how long the service asks to wait.
	RetryAfter time.Duration
	// IsCertainlyNotDone is true when the call had no effect. To repeat it is then safe. False: it may have had one.
	IsCertainlyNotDone bool

	cause error
}

// Error returns the code and the message.
func (e *Error) Error() string { return fmt.Sprintf("keystile: %s: %s", e.Code, e.Message) }

// Unwrap returns the error of the network, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// isTrouble: the service or the way to it has failed, so another try may succeed. Otherwise the call itself is refused.
func (e *Error) isTrouble() bool {
	switch {
	case e.Code == ErrorConfiguration || e.Code == ErrorAborted:
		return false
	case e.Status == 0:
		return true
	default:
		return e.Status >= 500 || e.Code == ErrorBadResponse
	}
}

// leavesDecision: OnUnavailable may let the request pass. A status of 400 to 499 never does, also from a gateway: the
// sender of a request can provoke one.
func (e *Error) leavesDecision() bool {
	return e.isTrouble() && (e.Status < 400 || e.Status >= 500)
}

func configurationError(message string) *Error {
	return &Error{Code: ErrorConfiguration, Message: message, IsCertainlyNotDone: true}
}
