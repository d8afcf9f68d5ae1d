/**
 * That a pod which is to have no network has none. Every pod has an address, and a cluster takes a NetworkPolicy also where
 * nothing acts on it, so the first container of each such pod tries to connect before anything of an agent runs.
 */
import { file } from '../../../spec/inner-entry';
import type { InnerEntry } from '../../engine';
import type { EnvironmentVariable } from './pod';

/** Status of the first container where it got through; the last line of its log says to what. */
export const reachedStatus = 93;

/**
 * Tries all at once for half a second: the API server and the pod's node, which every cluster has, the name servers that the
 * node gives pods, the addresses at which clouds tell secrets and nodes look up names, and over IPv6, which may be open
 * where IPv4 is not, also a name server of the root: of its API server and node, a pod is not told an address of IPv6. A
 * refusal may come from whatever enforces policies, so only a connection or an answer counts.
 *
 * Some network plugins act a moment after the start: while something is reached, it tries again for ten seconds. The other
 * way round, where a pod has no network yet and is to get one, nothing is reached and it runs. To wait for that would cost
 * every start more than a second, and the node needs no route: it is reached as soon as the pod has its address.
 */
const program = (node: string) => String.raw`
use strict; use Fcntl; use Socket qw(:DEFAULT :addrinfo);
open(my $file, "<", "/etc/resolv.conf");
my @resolvers = map { /^nameserver\s+(\S+)/ ? $1 : () } <$file>;
my @targets = (
  ["the API server", $ENV{KUBERNETES_SERVICE_HOST} // die("no address of the API server\n"), $ENV{KUBERNETES_SERVICE_PORT}],
  ${node}
  (map { ["the metadata service", $_, 80] } "169.254.169.254", "fd00:ec2::254"),
  ["a name server of the root", "2001:7fd::1", 53], ["a name server of the root", "2001:7fd::1", 53, 1],
  map { ["a name server", $_, 53], ["a name server", $_, 53, 1] } @resolvers, "169.254.20.10");
sub reached {
  my ($reads, $writes, %open) = ("", "");
  for (@targets) {
    my ($what, $host, $port, $is_udp) = @$_;
    my ($failure, $at) = getaddrinfo($host, $port, { flags => AI_NUMERICHOST | AI_NUMERICSERV });
    die "$host: $failure\n" if $failure;
    socket(my $socket, $at->{family}, $is_udp ? SOCK_DGRAM : SOCK_STREAM, 0) or next;
    fcntl($socket, F_SETFL, O_NONBLOCK);
    connect($socket, $at->{addr});
    # The name servers of the root.
    send($socket, pack("n6 C n2", 1, 256, 1, 0, 0, 0, 0, 2, 1), 0) if $is_udp;
    vec($is_udp ? $reads : $writes, fileno $socket, 1) = 1;
    $open{fileno $socket} = [$socket, "$what at $host, port $port", $is_udp];
  }
  my ($count, $left) = (1, 0.5);
  while (%open && $count > 0) {
    ($count, $left) = select(my $readable = $reads, my $writable = $writes, undef, $left);
    for (keys %open) {
      next if $count < 1 || !vec($readable, $_, 1) && !vec($writable, $_, 1);
      my ($socket, $name, $is_udp) = @{ delete $open{$_} };
      return $name if $is_udp ? defined recv($socket, my $answer, 512, 0) : getpeername $socket;
      vec($reads, $_, 1) = vec($writes, $_, 1) = 0;
    }
  }
  return undef;
}
my $end = time + 10;
while (defined(my $name = reached())) {
  if (time >= $end) { print STDERR "$name\n"; exit ${reachedStatus} }
  select undef, undef, undef, 0.2;
}`;

const nodeTarget = '["its node", $ENV{CAI_NODE}, 10250],';

/**
 * What a pod that may have no network has besides, for its first container to run before all else. Some network plugins always allow a pod its own node, so
 * `allowsOwnNode` leaves that out.
 */
export function podWall(
  hasNetwork: boolean,
  allowsOwnNode = false,
): { readonly script: string[]; readonly env: EnvironmentVariable[]; readonly entries: InnerEntry[] } {
  if (hasNetwork) return { script: [], env: [], entries: [] };
  const node = { name: 'CAI_NODE', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } };
  return {
    script: [`/usr/bin/perl -e '${program(allowsOwnNode ? '' : nodeTarget)}'`],
    env: allowsOwnNode ? [] : [node],
    // No name server is asked, so that no program waits for one that does not answer.
    entries: [file('/etc/resolv.conf', '', 0o644)],
  };
}

/** What to tell of a pod that got through; `reached`: what it said. */
export function unwalled(reached: string): string {
  const ofNode = reached.startsWith('its node')
    ? ', or, if the network plugin always allows a pod its own node, accept that with kubernetes.allow_own_node = true'
    : '';
  return `the cluster does not keep pods from the network: it could connect to ${reached}, as nothing in the cluster acts on the NetworkPolicy against that, or something allows it: have the administrator install a network plugin that enforces policies for pods with the label containai.managed${ofNode}, or allow all of the network with network.egress = "open"`;
}
