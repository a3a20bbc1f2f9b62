import { allOf } from '../../allOf.ts';
import { keystile, may, session } from '../../client.ts';
import { Form } from '../../ui/form.tsx';
import { Ago, Badge, Showing } from '../../ui/show.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';

export function Sessions() {
  const sessions = useLoaded(() => allOf(keystile.sessions.list({})), []);
  return (
    <section aria-labelledby="sessions">
      <h1 id="sessions">Sessions</h1>
      <p>Browsers that are signed in. A session ends after 12 hours without use, and after 7 days at the latest.</p>
      <Showing loaded={sessions}>
        {(all) => (
          <ul class="cards">
            {all.map(({ id, rootKeyId, browser, origin, createdAt, lastUsedAt }) => (
              <li key={id}>
                <h2>
                  <bdi>{browser ?? 'A browser'}</bdi>{' '}
                  {id === session.value?.sessionId && <Badge kind="good">This browser</Badge>}
                </h2>
                <p>
                  From {origin ?? 'an unknown address'}, signed in <Ago at={createdAt} />, last used{' '}
                  <Ago at={lastUsedAt} />
                </p>
                {id !== session.value?.sessionId && may('root.revoke_root_key', rootKeyId) && (
                  <Form
                    button="End the session"
                    onSend={async () => {
                      await keystile.sessions.end({ sessionId: id });
                      sessions.reload();
                    }}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
      </Showing>
    </section>
  );
}
