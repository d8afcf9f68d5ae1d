import { program } from '../../agent/agent-run';
import { ChildRun, megabyte } from './child-run';

let run: ChildRun;

afterEach(async () => await run.end());

describe('an agent that does not read', () => {
  test('is ended when cancels alone pile up', () => {
    run = new ChildRun(program('sleep', '60'));
    run.child.setReady();

    for (let i = 0; i < 3; i++) run.child.notify(Buffer.from(`"${megabyte}"\n`), true);

    expect(run.child.state).toBe('stopping');
  });
});
