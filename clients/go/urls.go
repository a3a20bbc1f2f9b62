package keystile

import (
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
)

// warning is given once in a process.
var warning sync.Once

// warnOfPlainHTTP warns when a root key would cross a network that everyone on the way can read.
func warnOfPlainHTTP(urls []string, rootKey string) {
	if rootKey == "" || os.Getenv("KEYSTILE_NETWORK") == "private" {
		return
	}
	for _, address := range urls {
		parsed, err := url.Parse(address)
		if err != nil || parsed.Scheme != "http" || isLoopback(parsed.Hostname()) {
			continue
		}
		warning.Do(func() {
			slog.Warn("keystile: the root key is sent over plain HTTP, and everyone on the way can read it: use an https:// address, "+
				"or set KEYSTILE_NETWORK=private in a network that you trust", "address", shown(address))
		})
	}
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// parseURLs reads a comma-separated list of addresses. The messages do not show what was given: it may contain a secret.
func parseURLs(list string) ([]string, *Error) {
	var urls []string
	for _, text := range strings.Split(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		read, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		urls = append(urls, read)
	}
	if len(urls) == 0 {
		return nil, configurationError(`Keystile needs an address. Pass Options{URL: "http://127.0.0.1:7878"} or set KEYSTILE_URL.`)
	}
	return urls, nil
}

func parseURL(text string) (string, *Error) {
	parsed, err := url.Parse(text)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Hostname() == "" {
		return "", configurationError("The url of Keystile must begin with http:// or https:// and name a host, " +
			"for example http://127.0.0.1:7878. Correct Options.URL or KEYSTILE_URL.")
	}
	if parsed.User != nil {
		return "", configurationError("The url of Keystile must not contain a user name or password. Pass the root key as Options.RootKey.")
	}
	return parsed.Scheme + "://" + parsed.Host + strings.TrimRight(parsed.EscapedPath(), "/"), nil
}

// shown is the address without its path, for messages.
func shown(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "the url"
	}
	return parsed.Scheme + "://" + parsed.Host
}
