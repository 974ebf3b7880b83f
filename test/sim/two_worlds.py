"""Reads a Gazebo world and a MuJoCo model, each as its own simulator would, and compares them.

Both become lists of entries (what, label, numbers) in the world's frame; sizes are radii and
half lengths, as MuJoCo has them.
"""

import math
from xml.etree import ElementTree

import numpy as np

SIZES = {
    'box': {'size': 0.5},
    'cylinder': {'radius': 1, 'length': 0.5},
    'sphere': {'radius': 1},
    'plane': {},
}
SIZE_COUNT = {'box': 3, 'cylinder': 2, 'sphere': 1, 'plane': 0}


def differences(ours, theirs):
    """Return the entries of two lists that have no partner in the other."""
    left = list(theirs)
    lonely = []
    for entry in ours:
        partner = next((other for other in left if _same(entry, other)), None)
        if partner is None:
            lonely.append(entry)
        else:
            left.remove(partner)
    return lonely + left


def _same(one, other):
    if one[:2] != other[:2] or len(one[2]) != len(other[2]):
        return False
    return all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-8)
        for a, b in zip(one[2], other[2], strict=True)
    )


def entry(what, label, *numbers):
    flat = np.concatenate([np.ravel(number) for number in numbers])
    return what, label, tuple(flat.astype(float).tolist())


def outline(kind, sizes, place, turned):
    """Return the numbers that make up a shape; a plane has no middle and only one direction."""
    return [place[2], *turned[:, 2]] if kind == 'plane' else [*sizes, *place, *turned.ravel()]


def read_mujoco(text):
    """Return the entries of a MuJoCo model at its start, as MuJoCo compiles it."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found = [entry('physics', '', model.opt.timestep, model.opt.gravity)]
    found += _geoms(model, data)
    for b in range(1, model.nbody):
        axes = data.ximat[b].reshape(3, 3)
        tensor = axes @ np.diag(model.body_inertia[b]) @ axes.T
        found.append(entry('link', _root(model, b), model.body_mass[b], data.xipos[b], tensor))
    for a in range(model.nu):
        j = model.actuator_trnid[a][0]
        torque = model.actuator_forcerange[a][1]
        found.append(entry('joint', model.joint(j).name, data.xanchor[j], data.xaxis[j], torque))
    for b in model.jnt_bodyid[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]:
        name = model.body(b).name
        found.append(entry('robot', name, data.xpos[b], data.xmat[b]))
        left, right = (data.xanchor[model.joint(f'{name}_{s}').id] for s in ('left', 'right'))
        found.append(entry('drive', name, left - right, math.dist(left, right), left[2]))
    return found


def _geoms(model, data):
    import mujoco

    kinds = [mujoco.mjtGeom(t).name.removeprefix('mjGEOM_').lower() for t in model.geom_type]
    types, partners = model.geom_contype, model.geom_conaffinity

    def touches(g, kind):
        others = [o for o, of in enumerate(kinds) if of == kind and o != g]
        return any(types[g] & partners[o] or types[o] & partners[g] for o in others)

    for g, kind in enumerate(kinds):
        label = _root(model, model.geom_bodyid[g]), kind
        sizes = model.geom_size[g][: SIZE_COUNT[kind]]
        shape = outline(kind, sizes, data.geom_xpos[g], data.geom_xmat[g].reshape(3, 3))
        yield entry('seen', label, shape)
        if types[g] or partners[g]:
            felt = touches(g, 'plane'), touches(g, 'cylinder')
            yield entry('felt', label, shape, felt, [model.geom_friction[g][0]] * 2)


def _root(model, body):
    return model.body(model.body_rootid[body]).name


def read_sdf(text):
    """Return the entries of a Gazebo world at its start, as Gazebo reads it."""
    world = ElementTree.fromstring(text).find('world')
    gravity = floats(world.findtext('gravity'))
    found = [entry('physics', '', floats(world.findtext('physics/max_step_size')), gravity)]
    solids = list(world.iter('collision'))
    for model in world.iter('model'):
        at = frame_of(model)
        static = model.findtext('static') == 'true'
        name = 'world' if static else model.get('name')
        for link in model.iter('link'):
            found += _link(name, link, at @ frame_of(link), solids)
        if not static:
            found.append(entry('robot', name, at[:3, 3], at[:3, :3]))
            found += _joints(name, model, at)
    return found


def _link(name, link, at, solids):
    for shape in link.iter('visual'):
        kind, numbers = _shape(shape, at)
        yield entry('seen', (name, kind), numbers)
    for shape in link.iter('collision'):
        kind, numbers = _shape(shape, at)
        frictions = [
            float(shape.findtext(f'surface/friction/ode/{mu}', '1')) for mu in ('mu', 'mu2')
        ]
        felt = [_touches(shape, solids, other) for other in ('plane', 'cylinder')]
        yield entry('felt', (name, kind), numbers, felt, frictions)
    inertial = link.find('inertial')
    if inertial is not None:
        frame = at @ frame_of(inertial)
        keys = [[''.join(sorted(row + column)) for column in 'xyz'] for row in 'xyz']
        own = [[float(inertial.findtext(f'inertia/i{key}')) for key in row] for row in keys]
        tensor = frame[:3, :3] @ own @ frame[:3, :3].T
        yield entry('link', name, float(inertial.findtext('mass')), frame[:3, 3], tensor)


def _joints(name, model, at):
    places = {link.get('name'): at @ frame_of(link) for link in model.iter('link')}
    anchors = {}
    for joint in model.iter('joint'):
        frame = places[joint.findtext('child')] @ frame_of(joint)
        axis = frame[:3, :3] @ floats(joint.findtext('axis/xyz'))
        torque = float(joint.findtext('axis/limit/effort'))
        anchors[joint.get('name')] = frame[:3, 3]
        label = f'{name}_{joint.get("name")}'
        yield entry('joint', label, frame[:3, 3], axis, torque)
    (drive,) = (p for p in model.iter('plugin') if p.get('name').endswith('::DiffDrive'))
    left, right = (anchors[drive.findtext(f'{side}_joint')] for side in ('left', 'right'))
    numbers = [float(drive.findtext(f'wheel_{of}')) for of in ('separation', 'radius')]
    yield entry('drive', name, left - right, numbers)


def _shape(element, at):
    (solid,) = element.find('geometry')
    frame = at @ frame_of(element)
    if solid.tag == 'plane':
        frame[:3, 2] = frame[:3, :3] @ floats(solid.findtext('normal'))
    sizes = [
        factor * size
        for tag, factor in SIZES[solid.tag].items()
        for size in floats(solid.findtext(tag))
    ]
    return solid.tag, outline(solid.tag, sizes, frame[:3, 3], frame[:3, :3])


def _touches(shape, solids, kind):
    others = [o for o in solids if o is not shape and o.find(f'geometry/{kind}') is not None]
    return any(_mask(shape) & _mask(other) for other in others)


def _mask(collision):
    return int(collision.findtext('surface/contact/collide_bitmask', '65535'))


def frame_of(element):
    """Return the frame of an element in its parent's, as a matrix."""
    x, y, z, roll, pitch, yaw = floats(element.findtext('pose', '0 0 0 0 0 0'))
    frame = np.eye(4)
    frame[:3, 3] = x, y, z
    for angle, (i, j) in ((yaw, (0, 1)), (pitch, (2, 0)), (roll, (1, 2))):
        turn = np.eye(4)
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[i, j], turn[j, i] = -math.sin(angle), math.sin(angle)
        frame = frame @ turn
    return frame


def floats(text):
    return [float(word) for word in text.split()]
