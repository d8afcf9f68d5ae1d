/** An image with Redis and Postgres that begins as the official ones do: as root, to become a user of its own. */
import { execFileSync } from 'node:child_process';

/** Its name. */
export const serviceImage = 'cai-test-services:1';

const entrypoint = `#!/bin/sh
set -e
own() { chown -R "$1" "$2"; chmod 0700 "$2" || :; }
case "$(id -u) $1" in
  "0 redis-server") own redis /data; shift; set -- redis redis-server "$@" ;;
  "0 postgres") own postgres /data; own postgres /run/postgresql; set -- postgres "$@" ;;
  *)
    case "$1" in
      postgres)
        [ -s /data/PG_VERSION ] || { echo "$POSTGRES_PASSWORD" >/tmp/pw; initdb --pwfile /tmp/pw -A md5 -D /data; }
        exec postgres -D /data -c listen_addresses='*' -c unix_socket_directories=/run/postgresql ;;
    esac
    exec "$@" ;;
esac
user=$1
shift
exec setpriv --reuid="$user" --regid="$user" --clear-groups "$0" "$@"
`;

const dockerfile = `FROM node:22-bookworm-slim
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends redis-server postgresql-15 && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/15
ENV PATH=/usr/lib/postgresql/15/bin:$PATH
RUN mkdir /data && echo ${Buffer.from(entrypoint).toString('base64')} | base64 -d >/entrypoint && chmod 755 /entrypoint
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGINT
ENTRYPOINT ["/entrypoint"]
CMD ["redis-server", "--protected-mode", "no"]
`;

/** Builds it, unless it is there as it is here. */
export function buildServiceImage(): void {
  execFileSync('docker', ['build', '--quiet', '--network', 'host', '--tag', serviceImage, '-'], {
    input: dockerfile,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}
