import { may } from '../../client.ts';
import { RootKeys } from './rootKeys.tsx';
import { Sessions } from './sessions.tsx';

export function Access() {
  return (
    <>
      {may('root.read_root_key') && <RootKeys />}
      <Sessions />
    </>
  );
}
