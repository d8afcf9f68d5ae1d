import { sourcesIn } from '../../../src/workspace/devcontainer/dockerfile-sources';

describe('sourcesIn', () => {
  test.each<[string, string, string[]]>([
    ['COPY', 'COPY a.txt b/ /dest/', ['a.txt', 'b']],
    ['flags', 'COPY --chown=1:1 --link ./a /dest', ['a']],
    ['another stage', 'FROM x AS y\nCOPY --from=y /a /b', []],
    ['ADD', 'add /x.tar /', ['x.tar']],
    ['an address', 'ADD https://example.com/x.tar git@github.com:a/b.git /', []],
    ['a list', 'COPY ["a b", "/c", "/dest"]', ['a b', 'c']],
    ['several lines', 'COPY one \\\n# not this\n two \\\n /dest', ['one', 'two']],
    ['a text of its own', 'COPY <<EOF /dest\nx\nEOF', []],
    ['a mount', 'RUN --mount=type=bind,source=req.txt,target=/r pip install -r /r', ['req.txt']],
    [
      'mounts of something else',
      'RUN --mount=type=cache,target=/c --mount=type=bind,from=x,source=/,target=/x ls',
      [],
    ],
    ['a trigger', 'ONBUILD COPY later /dest', ['later']],
    ['nothing', 'FROM node\nRUN echo COPY a b', []],
  ])('names what is read by %s', (_, text, sources) => {
    expect(sourcesIn(text)).toEqual(sources);
  });

  test.each([
    ['COPY . /app'],
    ['COPY ./ /app'],
    ['COPY a / /app'],
    ['COPY $FILE /app'],
    ['COPY ["a", /app]'],
    ['RUN --mount=target=/src ls'],
    ['RUN --mount=type=bind,target=/src ls'],
    ['# escape=`\nCOPY a `\n b /c'],
  ])('takes all for %s', (text) => {
    expect(sourcesIn(text)).toBe('all');
  });
});
