import { useEffect, useState } from 'preact/hooks';

import { messageOf, signIn } from '../client.ts';
import { goTo, path } from '../router.ts';
import { Form, textOf, TextField } from '../ui/form.tsx';

/** The token of a sign-in link stands behind the #, so that it reaches no log. It is taken out of the address at once. */
function takeToken(): string | null {
  const token = /^#signIn=(\w+)$/.exec(location.hash)?.[1];
  if (token === undefined) return null;
  history.replaceState(null, '', location.pathname + location.search);
  return token;
}

const linkToken = takeToken();
// A link that is opened in this tab changes nothing but the part behind the #.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#signIn=')) location.reload();
});

export function SignIn() {
  const [token, setToken] = useState(linkToken);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    if (token === null) return;
    signIn({ token }).then(
      () => goTo(path.peek(), 'replace'),
      (error: unknown) => {
        setFailure(messageOf(error));
        setToken(null);
      },
    );
  }, []);
  return (
    <main class="sign-in">
      <h1>Keystile</h1>
      {token !== null ? (
        <p class="loading">Signing in …</p>
      ) : (
        <>
          {failure !== null && (
            <p class="notice wrong" role="alert">
              {failure}
            </p>
          )}
          <SignInForm />
        </>
      )}
    </main>
  );
}

export function SignInForm() {
  if (!navigator.cookieEnabled)
    return (
      <p class="notice wrong" role="alert">
        Cookies are off in this browser. A session is a cookie: allow cookies for {location.host}, and reload the page.
      </p>
    );
  return (
    <Form button="Sign in" onSend={(data) => signIn({ rootKey: textOf(data, 'rootKey') ?? '' })}>
      <TextField
        label="Root key"
        name="rootKey"
        type="password"
        required
        autoComplete="off"
        hint="It is sent to this service once and is not stored in the browser. You can do what this root key can do."
      />
    </Form>
  );
}
