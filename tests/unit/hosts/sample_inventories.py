"""Inventories of each format, and sets of hosts."""

OURS = """
[groups]
clients = "node[1-3]"
servers = ["db1", "db2"]
all = ["@clients", "@servers!db2"]

[hosts.node1]
destination = "me@10.0.0.1"
address = "192.0.2.1"
"""

INI = """
# Hosts without a group come first.
lone ansible_host=10.0.0.9 ansible_user=root
[web]
web[01:03]   ansible_user=me   # the user of all three
web9:22
; also a comment
[db]
db-[a:c].example.org
"quoted" ansible_ssh_host='h.example.org'
lone whyperf_address=192.0.2.9
[site:children]
web
db
[site:vars]
ansible_user=nobody
anything at all
"""

LISTED = {
    "_meta": {"hostvars": {"w1": {"ansible_host": "10.0.0.1", "ansible_port": 22}, "w2": {"ansible_user": "me"}}},
    "all": {"children": ["ungrouped", "web", "site"]},
    "site": {"children": ["web", "db"]},
    "web": {"hosts": ["w1", "w2"]},
    "db": ["d1"],
}

#: What each names is in test_host_sets.py.
SETS = (
    "node[1-3,7],db1",
    "r[01-02]n[1-9/2]x",
    "node[1-5]!node[2-4]^node7&node[1-9]",
    "@web,@db!d1",
    "me@node1,local,2001:db8::1,[2001:db8::2]",
)
