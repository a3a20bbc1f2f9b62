package keystile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// maxAnswerBytes bounds the memory that an answer can take.
const maxAnswerBytes = 64 << 20

type attempt struct {
	url     string
	call    call
	body    []byte
	timeout time.Duration
}

// answer is the body of a success.
type answer struct {
	body []byte
	// at is the time of the service, as far as it says it, so that the clock of this machine does not matter.
	at time.Time
}

// wayTrace learns how far a request came. It sees "asked" without "connected" when nothing was sent.
type wayTrace struct {
	asked, connected atomic.Bool
}

func (w *wayTrace) in(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.connected.Store(true) },
	})
}

func (w *wayTrace) isNothingSent() bool { return w.asked.Load() && !w.connected.Load() }

// attempt sends a request once.
func (t *transport) attempt(ctx context.Context, a attempt) (answer, *Error) {
	if ctx.Err() != nil {
		return answer{}, &Error{
			Code: ErrorAborted, Message: "The context of the call had ended before the call was sent.", IsCertainlyNotDone: true, cause: ctx.Err(),
		}
	}
	var way wayTrace
	limited, cancel := context.WithTimeout(way.in(ctx), a.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodPost, a.url+a.call.path, bytes.NewReader(a.body))
	if err != nil {
		return answer{}, configurationError("The path of the call is not part of a url. Check it.")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "keystile-go/"+Version)
	if t.rootKey != "" {
		request.Header.Set("Authorization", "Bearer "+t.rootKey)
	}
	response, err := t.http.Do(request)
	if err != nil {
		return answer{}, a.lostOnTheWay(ctx, limited, &way, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return answer{}, a.lostOnTheWay(ctx, limited, &way, err)
	}
	return t.read(a, response, body)
}

func (t *transport) read(a attempt, response *http.Response, body []byte) (answer, *Error) {
	isWhole := len(body) <= maxAnswerBytes && json.Valid(body)
	if isWhole && response.StatusCode >= 200 && response.StatusCode < 300 {
		return answer{body: body, at: serverTime(response.Header)}, nil
	}
	if isWhole {
		if known := errorOfBody(body, response, []string{t.rootKey, a.call.secret}); known != nil {
			return answer{}, known
		}
	}
	return answer{}, badResponse(a.url, response.StatusCode)
}

func serverTime(header http.Header) time.Time {
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

// lostOnTheWay is the error of a request without a whole answer.
func (a attempt) lostOnTheWay(ctx, limited context.Context, way *wayTrace, err error) *Error {
	isNothingSent := way.isNothingSent()
	failure := &Error{IsCertainlyNotDone: isNothingSent, cause: err}
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return endedByCaller(ctx, isNothingSent)
	case isTLSFailure(err):
		failure.Code = ErrorTLS
		failure.Message = "The TLS connection to " + shown(a.url) + " failed. Check its certificate, " +
			"and that the url begins with http:// or https:// as the service does."
	case isNothingSent:
		failure.Code = ErrorUnreachable
		failure.Message = "Keystile cannot be reached at " + shown(a.url) + ". Check the url, and that the service is running."
	case limited.Err() != nil || errors.As(err, &timeout) && timeout.Timeout():
		failure.Code = ErrorTimeout
		failure.Message = "Keystile at " + shown(a.url) + " did not answer within " + a.timeout.Round(time.Millisecond).String() +
			". Check that it is reachable, or raise Options.Timeout."
	default:
		failure.Code = ErrorConnectionLost
		failure.Message = "The connection to Keystile at " + shown(a.url) + " ended before the answer. The call may have been carried out."
	}
	return failure
}

// endedByCaller is the error of a call whose context ended while the answer was awaited.
func endedByCaller(ctx context.Context, isCertainlyNotDone bool) *Error {
	failure := &Error{Code: ErrorAborted, IsCertainlyNotDone: isCertainlyNotDone, cause: ctx.Err()}
	failure.Message = "The context of the call was cancelled before the answer."
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		failure.Code = ErrorTimeout
		failure.Message = "The deadline of the context passed before the answer. Check that Keystile is reachable, or allow more time."
	}
	return failure
}
