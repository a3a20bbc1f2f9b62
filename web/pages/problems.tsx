import type { Problem } from '../../sdk/src/generated/api.ts';
import { Badge, Copyable } from '../ui/show.tsx';

/** What is wrong, and what to do; or that all is well. */
export function Problems({ of: problems }: { readonly of: readonly Problem[] }) {
  if (problems.length === 0)
    return (
      <p>
        <Badge kind="good">All is well</Badge>
      </p>
    );
  return (
    <ul class="problems" aria-label="Problems">
      {problems.map(({ name, severity, text, fix, command }) => (
        <li key={name} class={severity === 'problem' ? 'notice wrong' : 'notice'}>
          <Badge kind={severity === 'problem' ? 'bad' : 'plain'}>{severity === 'problem' ? 'Problem' : 'Advice'}</Badge>{' '}
          {text} <strong>{fix}</strong> <Copyable text={command} label={`the command for ${name}`} />
        </li>
      ))}
    </ul>
  );
}
