def get_image_from_maniskill2_obs_dict(env, obs, camera_name=None):
    if camera_name is None:
        if "google_robot" not in env.robot_uid:
            raise NotImplementedError
        camera_name = "overhead_camera"
    return obs["image"][camera_name]["rgb"]
