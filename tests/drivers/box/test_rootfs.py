import os
import shutil
import signal
import subprocess

from tests.boxes import VOLUME, BoxDaemons


def test_the_store_does_not_show_even_through_a_shared_mount(shared_box: BoxDaemons) -> None:
    assert os.listdir(shared_box.store)
    assert shared_box.out(f"ls -A {shared_box.store}") == ""
    assert shared_box.run(f"touch {shared_box.store}/x")[1] != {"exit": 0}
    assert str(VOLUME) in str(shared_box.store)


def test_devices_work_and_belong_to_the_container(shared_box: BoxDaemons) -> None:
    assert shared_box.out(
        "head -c 3 /dev/zero | wc -c; echo x > /dev/null; echo x 2>&1 > /dev/full | grep -o 'No space'", "agent"
    ).split() == ["3", "No", "space"]
    assert shared_box.out("ls /dev").split() == sorted(
        ["fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"]
    )


def test_what_is_put_for_the_agent_is_read_only_and_its_own_directories_are_empty(box: BoxDaemons) -> None:
    (box.agent_run / "token").write_text("t")
    (box.agent_run / "shells").mkdir()
    (box.agent_run / "shells" / "old").write_text("x")
    os.chown(box.agent_run / "shells", 1000, 1000)
    box.ask("replace")
    assert box.out(f"cat {box.agent_run}/token") == "t"
    assert box.run(f"echo x > {box.agent_run}/token")[1] != {"exit": 0}
    assert box.out(f"cd {box.agent_run}/shells && ls -A && touch new && stat -c '%U %a' .", "agent") == "gem 755"
    assert os.listdir(box.agent_run / "shells") == ["old"]


def test_a_new_directory_at_the_top_belongs_to_the_layers(box: BoxDaemons) -> None:
    box.out("mkdir /app && echo x > /app/x && echo y > /rootfile")
    box.ask("replace")
    assert box.out("cat /app/x /rootfile").split() == ["x", "y"]


def test_every_protected_part_of_proc_is_protected(shared_box: BoxDaemons) -> None:
    assert shared_box.out("wc -c < /proc/timer_list; ls /sys/firmware | wc -l").split() == ["0", "0"]
    assert "ro," in shared_box.out("grep ' /proc/sys ' /proc/mounts")


def test_the_display_is_where_x_clients_look_for_it(box: BoxDaemons) -> None:
    (box.agent_run / "x11").mkdir()
    (box.agent_run / "x11" / "X99").write_text("a socket")
    box.ask("replace")
    assert box.out("cat /tmp/.X11-unix/X99", "agent") == "a socket"
    assert box.run("rm /tmp/.X11-unix/X99")[1] != {"exit": 0}


def test_a_link_in_the_place_of_a_part_leads_nowhere(box: BoxDaemons) -> None:
    before = sorted(os.listdir("/run"))
    made = box.ask("checkpoint", label="x", who="me")["checkpoint"]["id"]
    for name in ("home", "opt", "etc", "srv", "proc", "sys", "dev", "run", "tmp", "sandbox"):
        layer = box.store / "l" / made / name
        subprocess.run(["rm", "-rf", layer], check=True)
        layer.symlink_to("/run")
    box.ask("replace")
    assert box.ask("status")["running"], box.ask("status")
    assert box.out("ls -A /home") == ""
    assert box.out("stat -c %F /home /opt /etc /proc /sys /dev /run /tmp | sort -u") == "directory"
    assert sorted(os.listdir("/run")) == before


def test_a_directory_that_is_shared_is_shown_where_the_agent_has_put_a_link(box: BoxDaemons) -> None:
    outside = box.agent_run.with_name(f"{box.agent_run.name}-outside")
    outside.mkdir()
    try:
        box.out(f"rm -r /srv && ln -s {outside} /srv")
        box.ask("checkpoint", label="y", who="me")
        box.end_spawner(signal.SIGTERM)
        box.end_box_daemon(signal.SIGTERM)
        os.makedirs("/srv/given/inner")
        box.start_box_daemon("--shared", "/srv/given")
        box.start_spawner()
        assert box.out("ls /srv/given; echo x > /srv/given/new") == "inner"
        assert sorted(os.listdir("/srv/given")) == ["inner", "new"]
        assert os.listdir(outside) == []
    finally:
        outside.rmdir()
        shutil.rmtree("/srv/given", ignore_errors=True)
